/// The capabilities of a tus 1.0 server, from its response to `OPTIONS`.
public struct TusServer: Equatable, Sendable {
  /// The extensions, such as `creation`.
  public var extensions: Set<String> = []
  /// The maximum size in bytes of a file; `nil` if it names no limit.
  public var greatestBytes: Int64?
  /// The names of the checksums that it compares, such as `sha256`.
  public var checksums: Set<String> = []

  /// An unknown server that can create uploads, the minimum that is required.
  public init() {}

  /// Parses the headers of a response. A server without them supports only the core protocol.
  init(_ headers: [String: String]) {
    func list(_ name: String) -> Set<String> {
      Set((headers[name] ?? "").lowercased().split { $0 == "," || $0 == " " }.map(String.init))
    }
    extensions = list("tus-extension")
    greatestBytes = headers["tus-max-size"].flatMap { Int64($0) }
    if extensions.contains("checksum") { checksums = list("tus-checksum-algorithm") }
  }

  /// Whether it verifies SHA-256, the only checksum that is sent.
  var comparesSHA256: Bool { checksums.contains("sha256") }
}
