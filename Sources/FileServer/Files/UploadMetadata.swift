import Platform
import HTTPServer

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `Upload-Metadata`: names separated by commas, each with a value in base64 or without one. The server reads only
/// `content` and `variant`, and returns the rest unchanged.
package struct UploadMetadata {
  /// The unchanged text of the client.
  let text: String
  /// The content that the upload becomes; a new content if the client does not name one.
  let name: ContentName

  package static let greatestLength = 4_096

  init(_ request: Request, random: RandomSource) throws(HTTPProblem) {
    text = request.headers["upload-metadata"] ?? ""
    let values = try Self.values(in: text)
    let content = try Self.word(values["content"], "content") ?? UUIDText.text(.version4(random: random))
    guard UUIDText.isCanonical(content) else { throw .invalid("content must be a lowercase UUID", field: "content") }
    let variant = try Self.word(values["variant"], "variant") ?? ContentName.Variant.full.rawValue
    guard let variant = ContentName.Variant(rawValue: variant) else {
      throw .invalid("variant must be full or thumbnail", field: "variant")
    }
    name = ContentName(content: content, variant: variant)
  }

  private static func values(in text: String) throws(HTTPProblem) -> [String: [UInt8]] {
    guard text.utf8.count <= greatestLength else {
      throw .badRequest("Upload-Metadata may have at most \(greatestLength) bytes", field: "Upload-Metadata")
    }
    var values: [String: [UInt8]] = [:]
    guard !text.isEmpty else { return values }
    for pair in text.split(separator: ",", omittingEmptySubsequences: false) {
      let words = pair.split(separator: " ", omittingEmptySubsequences: true)
      guard let name = words.first, words.count <= 2, name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
        let value = words.count == 1 ? [] : decoded(words[1]), values.updateValue(value, forKey: String(name)) == nil
      else {
        throw .badRequest(
          "Upload-Metadata must consist of pairs of a unique name and a value in base64", field: "Upload-Metadata")
      }
    }
    return values
  }

  private static func word(_ bytes: [UInt8]?, _ name: String) throws(HTTPProblem) -> String? {
    guard let bytes else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw .invalid("\(name) is not valid UTF-8", field: name)
    }
    return text
  }

  private static func decoded(_ text: Substring) -> [UInt8]? { Data(base64Encoded: String(text)).map { Array($0) } }
}
