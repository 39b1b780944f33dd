import CSodium
import SyncModel
import VaultKeys
import HTTPClient

/// Signs requests to an object store: AWS Signature Version 4
/// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html).
struct SignatureV4: Sendable {
  let accessKeyId: String
  /// The first key: `AWS4` and the secret access key.
  private let firstKey: SecureBytes
  let region: String
  let service: String

  static let algorithm = "AWS4-HMAC-SHA256"
  /// The value for the digest of a body that the signer does not know.
  static let unsignedPayload = "UNSIGNED-PAYLOAD"

  init(_ credentials: ObjectStoreCredentials, region: String, service: String = "s3") {
    accessKeyId = credentials.accessKeyId
    firstKey = credentials.firstKey
    (self.region, self.service) = (region, service)
  }

  /// The signed parts of a request.
  struct Signed {
    var method: String
    /// The path with percent-encoded parts.
    var path: String
    /// The names and values of the query without encoding. The signer encodes them.
    var query: [(name: String, value: String)] = []
    /// The signed headers, including `host`.
    var headers: [(name: String, value: String)]
    /// SHA-256 of the body in hexadecimal digits, or its replacement.
    var payload: String

    /// The names of the headers, in the listed form.
    var headerNames: String { sorted.map(\.name).joined(separator: ";") }

    private var sorted: [(name: String, value: String)] {
      headers.map { ($0.name.lowercased(), Self.trimmed($0.value)) }.sorted { $0.name < $1.name }
    }

    /// The canonical form of the request.
    var canonical: String {
      let pairs = query.map { (ServerAddress.encoded($0.name), ServerAddress.encoded($0.value)) }.sorted { $0 < $1 }
      let lines = [
        method, path, pairs.map { "\($0.0)=\($0.1)" }.joined(separator: "&"),
        sorted.map { "\($0.name):\($0.value)\n" }.joined(), headerNames, payload,
      ]
      return lines.joined(separator: "\n")
    }

    /// Returns a value without surrounding spaces, and with single spaces inside.
    private static func trimmed(_ value: String) -> String { value.split(separator: " ").joined(separator: " ") }
  }

  /// The signer, the time and the scope.
  func scope(_ time: Int64) -> String { "\(Self.date(time).prefix(8))/\(region)/\(service)/aws4_request" }

  /// The signature of a request at a time, in milliseconds since 1970-01-01 UTC.
  func signature(of request: Signed, at time: Int64) -> String {
    let text = [Self.algorithm, Self.date(time), scope(time), HMAC.sha256(request.canonical)].joined(separator: "\n")
    var key = firstKey.withUnsafeBytes { HMAC.sha256(String(Self.date(time).prefix(8)), keyed: $0) }
    for word in [region, service, "aws4_request", text] {
      key = key.withUnsafeBytes { HMAC.sha256(word, keyed: $0) }
    }
    return HMAC.hexadecimal(key)
  }

  /// Returns the query of a presigned request that is valid for some seconds from a time on.
  /// - Parameter headers: the headers that the request must have with these values, including `host`.
  func query(
    presigning method: String, _ path: String, _ query: [(name: String, value: String)] = [],
    headers: [(name: String, value: String)], seconds: Int, at time: Int64
  ) -> String {
    var request = Signed(
      method: method, path: path, query: query, headers: headers, payload: Self.unsignedPayload)
    request.query += [
      ("X-Amz-Algorithm", Self.algorithm), ("X-Amz-Credential", "\(accessKeyId)/\(scope(time))"),
      ("X-Amz-Date", Self.date(time)), ("X-Amz-Expires", String(seconds)),
      ("X-Amz-SignedHeaders", request.headerNames),
    ]
    let signature = signature(of: request, at: time)
    return (request.query + [("X-Amz-Signature", signature)])
      .map { "\(ServerAddress.encoded($0.name))=\(ServerAddress.encoded($0.value))" }.joined(separator: "&")
  }

  /// Returns a time in the form `20130524T000000Z`.
  static func date(_ milliseconds: Int64) -> String {
    WireTime.text(milliseconds).prefix { $0 != "." }.filter { $0 != "-" && $0 != ":" } + "Z"
  }
}

/// HMAC-SHA-256 (RFC 2104) and SHA-256 of texts.
package enum HMAC {
  /// Returns the code of a text under a key that is not empty.
  package static func sha256(_ text: String, keyed key: UnsafeRawBufferPointer) -> [UInt8] {
    var state = crypto_auth_hmacsha256_state()
    let text = Array(text.utf8)
    var code = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
    key.bindMemory(to: UInt8.self).baseAddress.map { _ = crypto_auth_hmacsha256_init(&state, $0, key.count) }
    _ = crypto_auth_hmacsha256_update(&state, text, UInt64(text.count))
    _ = crypto_auth_hmacsha256_final(&state, &code)
    return code
  }

  /// Returns the SHA-256 of a text in hexadecimal digits.
  static func sha256(_ text: String) -> String {
    var digest = SHA256()
    digest.add(text)
    return digest.hexDigest
  }

  static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
