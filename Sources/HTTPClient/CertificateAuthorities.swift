#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Certificates of authorities that a transport accepts in addition to those of the system, for a server with a
/// certificate of a company's own authority.
public struct CertificateAuthorities: Equatable, Sendable {
  /// The certificates, PEM-encoded. Other parts of the source, such as a private key, are left out.
  public let pem: String
  /// The certificates, DER-encoded.
  package let certificates: [[UInt8]]

  /// The number of certificates.
  public var count: Int { certificates.count }

  /// The reason why a text has no usable certificates.
  public enum Problem: Error, Equatable, Sendable {
    /// The text has no PEM-encoded certificate.
    case noCertificate
    /// The certificate with this number, from 1, is incomplete or not base64.
    case damaged(number: Int)
  }

  /// Reads the certificates of a text such as the content of a PEM file.
  public init(pem text: String) throws(Problem) {
    let (begin, end) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
    var certificates: [[UInt8]] = []
    var rest = text[...]
    while let start = rest.range(of: begin) {
      let number = certificates.count + 1
      rest = rest[start.upperBound...]
      guard let stop = rest.range(of: end) else { throw .damaged(number: number) }
      let base64 = rest[..<stop.lowerBound].filter { !$0.isWhitespace }
      guard let data = Data(base64Encoded: String(base64)), Self.isSequence([UInt8](data)) else {
        throw .damaged(number: number)
      }
      certificates.append([UInt8](data))
      rest = rest[stop.upperBound...]
    }
    guard !certificates.isEmpty else { throw .noCertificate }
    self.certificates = certificates
    pem = certificates.map { certificate in
      let lines = Data(certificate).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
      return "\(begin)\n\(lines)\n\(end)\n"
    }.joined()
  }

  /// Whether bytes are one complete DER sequence, as every certificate is. The TLS library reads its members.
  private static func isSequence(_ bytes: [UInt8]) -> Bool {
    guard bytes.count > 2, bytes[0] == 0x30 else { return false }
    let first = Int(bytes[1])
    if first < 0x80 { return bytes.count == 2 + first }
    let lengthBytes = first & 0x7F
    guard (1...4).contains(lengthBytes), bytes.count > 2 + lengthBytes else { return false }
    let length = bytes[2..<2 + lengthBytes].reduce(0) { $0 << 8 | Int($1) }
    return bytes.count == 2 + lengthBytes + length
  }
}
