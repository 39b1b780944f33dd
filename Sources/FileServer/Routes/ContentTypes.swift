/// The media types of files that a server accepts.
public struct ContentTypes: Sendable, Equatable {
  /// Media types such as `image/jpeg`, or `image/*` for all images.
  public var patterns: [String]

  /// Creates a list of media types.
  public init(_ patterns: [String]) { self.patterns = patterns }

  /// The media types that devices of this project use, and the type of encrypted files.
  public static let usual = ContentTypes([
    "application/octet-stream", "application/pdf", "application/zip", "application/gzip", "image/*", "audio/*",
    "video/*",
  ])

  func takes(_ type: String) -> Bool {
    // An image format that can run scripts in a browser.
    if type == "image/svg+xml", !patterns.contains(type) { return false }
    return patterns.contains { $0 == type || ($0.hasSuffix("/*") && type.hasPrefix($0.dropLast())) }
  }

  /// Returns whether a text is a media type in the signed form: in lower case, without parameters.
  public static func isType(_ text: String) -> Bool {
    let words = text.split(separator: "/", omittingEmptySubsequences: false)
    return words.count == 2 && text.utf8.count <= 127
      && words.allSatisfy { word in
        !word.isEmpty
          && word.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || "+-._".utf8.contains(byte)
          }
      }
  }
}
