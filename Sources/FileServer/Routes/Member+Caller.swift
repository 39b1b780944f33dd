import HTTPServer
import ServerStorage

extension Member: Caller {}
