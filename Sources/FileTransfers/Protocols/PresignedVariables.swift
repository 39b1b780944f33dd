import Foundation
import SyncModel
import HTTPClient

/// The values of the variables of a ``PresignedAPI``.
struct PresignedVariables {
  private let words: [(name: String, value: String)]
  private let byteCount: Int64?

  init(_ facts: UploadDescription?, key: String?) {
    var words: [(String, String)] = []
    if let facts {
      words = [
        ("{bytes}", String(facts.byteCount)), ("{sha256}", Data(facts.sha256).base64EncodedString()),
        ("{sha256hex}", facts.sha256.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()),
        ("{contentType}", facts.contentType),
      ]
    }
    if let key { words.append(("{key}", key)) }
    self.words = words
    byteCount = facts?.byteCount
  }

  /// Whether a request contains a variable for which the file must be read.
  static func areOfFile(in request: PresignedAPI.Request) -> Bool {
    let text = request.path + (request.body?.json ?? "") + request.headers.map(\.value).joined()
    return ["{bytes}", "{sha256}", "{sha256hex}", "{contentType}"].contains { text.contains($0) }
  }

  func text(_ text: String) -> String { replacing(text) { $0 } }

  func path(_ path: String) -> String { replacing(path, ServerAddress.encoded) }

  func filled(_ value: SyncValue) -> SyncValue {
    switch value {
    case .text("{bytes}"): byteCount.map { .integer($0) } ?? value
    case .text(let text): .text(self.text(text))
    case .array(let elements): .array(elements.map(filled))
    case .object(let object):
      .object(
        object.members.reduce(into: SyncObject()) { result, member in result[member.name] = filled(member.value) })
    default: value
    }
  }

  /// Replaces the variables from left to right, so that inserted values are not searched again.
  private func replacing(_ text: String, _ encoded: (String) -> String) -> String {
    var result = ""
    var rest = text[...]
    while let brace = rest.firstIndex(of: "{") {
      result += rest[..<brace]
      rest = rest[brace...]
      if let word = words.first(where: { rest.hasPrefix($0.name) }) {
        result += encoded(word.value)
        rest = rest.dropFirst(word.name.count)
      } else {
        result += "{"
        rest = rest.dropFirst()
      }
    }
    return result + rest
  }
}

extension PresignedAddress {
  /// Returns the address in a response; `nil` without an address, or with invalid headers.
  init?(_ json: SyncValue?, _ api: PresignedAPI, _ facts: UploadDescription) {
    guard let json, case .text(let url)? = json.member(api.urlAt), !url.isEmpty else { return nil }
    var headers: [String: String] = [:]
    if let place = api.headersAt, let found = json.member(place), found != .null {
      guard case .object(let object) = found else { return nil }
      for member in object.members {
        guard let value = member.value.plainText, HeaderName.isName(member.name) else { return nil }
        // Length and host follow from the file and the address.
        if HeaderName.isForRequests(member.name) { headers[member.name] = value }
      }
    }
    if !headers.keys.contains(where: { $0.lowercased() == "content-type" }) {
      headers["Content-Type"] = facts.contentType
    }
    let key = api.keyAt.map { json.member($0)?.plainText }
    // An API whose confirmation contains the upload's name must return that name.
    if let key, key == nil, api.confirm != nil { return nil }
    self.init(url: url, headers: headers, key: (key ?? nil) ?? "")
  }
}

extension SyncValue {
  /// Returns the value at a position, by the names of members from the outside in.
  func member(_ names: [String]) -> SyncValue? {
    names.reduce(self as SyncValue?) { value, name in
      guard case .object(let object)? = value else { return nil }
      return object[name]
    }
  }

  /// A text, or a number as text.
  var plainText: String? {
    switch self {
    case .text(let text): text
    case .integer(let number): String(number)
    default: nil
    }
  }
}
