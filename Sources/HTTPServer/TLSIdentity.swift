import CMicroHTTPD

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A certificate and its private key, both PEM-encoded, for TLS.
public struct TLSIdentity: Sendable {
  let certificate: [UInt8]
  let privateKey: [UInt8]

  /// Reads both files.
  /// - Throws: ``HTTPServerError`` with `badCertificate` that names the file.
  public init(certificateFile: String, keyFile: String) throws(HTTPServerError) {
    guard MHD_is_feature_supported(.FEATURE_TLS) == .YES else {
      throw HTTPServerError(.badCertificate, "the libmicrohttpd of this machine was built without TLS")
    }
    certificate = try Self.content(of: certificateFile, holding: "CERTIFICATE", "certificate")
    privateKey = try Self.content(of: keyFile, holding: "PRIVATE KEY", "private key")
  }

  private static func content(of path: String, holding label: String, _ what: String) throws(HTTPServerError) -> [UInt8]
  {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw HTTPServerError(
        .badCertificate, "cannot read \(path)", hint: "check the path and the permissions of the file")
    }
    let text = String(decoding: data, as: UTF8.self)
    guard text.contains("-----BEGIN "), text.contains("\(label)-----") else {
      throw HTTPServerError(.badCertificate, "\(path) contains no PEM-encoded \(what)")
    }
    return Array(data) + [0]
  }
}
