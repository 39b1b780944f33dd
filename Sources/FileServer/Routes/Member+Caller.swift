import HTTPServer
import ServerStorage

extension Member: Caller {
  package var accountName: String { account.name }
}
