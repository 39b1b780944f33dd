import Foundation
import Platform
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import FileServer
@testable import ServerStorage

/// The settings of an object store, and the addresses of its objects.
@Suite struct ObjectStoreTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func file(_ content: String, mode: Int = 0o600) throws -> String {
    let path = folder.path + "/s3.key"
    try Data(content.utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    return path
  }

  @Test("Credentials are two lines of a private file") func credentialsAreTwoLinesThatNobodyElseReads() throws {
    let credentials = try ObjectStoreCredentials(file: try file("AKIDEXAMPLE\nse/cr+et=\n"))
    #expect(credentials.accessKeyId == "AKIDEXAMPLE")
    #expect(credentials.firstKey.withUnsafeBytes { Array($0) } == Array("AWS4se/cr+et=".utf8))
    #expect(try ObjectStoreCredentials(file: try file("a\r\nb")).accessKeyId == "a")
    for content in ["", "one", "one\ntwo\nthree", "one two\nthree", "a\nb" + String(repeating: "x", count: 5_000)] {
      let error = #expect(throws: ServerError.self) { try ObjectStoreCredentials(file: try file(content)) }
      #expect(error?.code == .badObjectStore && error?.description.contains("three") == false)
    }
    let open = #expect(throws: ServerError.self) { try ObjectStoreCredentials(file: try file("a\nb", mode: 0o640)) }
    #expect(open?.hint?.hasPrefix("chmod 600") == true)
    #expect(throws: ServerError.self) { try ObjectStoreCredentials(file: folder.path + "/nothing") }
  }

  @Test(
    "An invalid endpoint or bucket is refused",
    arguments: [
      ("http://s3.example.org", "photos"), ("https://s3.example.org/photos", "photos"), ("s3.example.org", "photos"),
      ("https://s3.example.org", "ab"), ("https://s3.example.org", "Photos"), ("https://s3.example.org", "a/../b"),
    ])
  func aStoreThatIsNone(endpoint: String, bucket: String) throws {
    let credentials = try ObjectStoreCredentials(file: try file("a\nb"))
    let error = #expect(throws: ServerError.self) {
      try ObjectStore(endpoint: endpoint, bucket: bucket, credentials: credentials)
    }
    #expect(error?.code == .badObjectStore)
  }

  @Test("A presigned address binds length, digest, type and expiry") func anAddressSaysWhatMayBeSentAndForHowLong()
    throws
  {
    var store = try objectStore("https://s3.example.org:443")
    store.clock = Clock(now: { 1_772_352_000_000 }, instant: Clock.system.instant, sleepUntil: Clock.system.sleepUntil)
    let digest = Data(repeating: 7, count: 32).base64EncodedString()
    let address = store.addressToSend("folder/id", byteCount: 5, sha256: digest, contentType: "image/jpeg")
    #expect(address.url.hasPrefix("https://s3.example.org:443/photos/folder/id?X-Amz-Algorithm=AWS4-HMAC-SHA256&"))
    #expect(address.url.contains("&X-Amz-Expires=600&"))
    #expect(address.expiresAt == 1_772_352_600_000)
    #expect(
      address.url.contains(
        "&X-Amz-SignedHeaders=content-length%3Bcontent-type%3Bhost%3Bx-amz-checksum-sha256%3Bx-amz-sdk-checksum-algorithm&"
      ))
    #expect(address.headers["Content-Type"] == "image/jpeg" && address.headers["x-amz-checksum-sha256"] == digest)
    // Another length is another signature.
    let longer = store.addressToSend("folder/id", byteCount: 6, sha256: digest, contentType: "image/jpeg")
    #expect(longer.url != address.url)
    #expect(try FileAddress(wire: address.wire) == address)
    #expect(store.addressToFetch("folder/id").headers.isEmpty)
  }

  @Test("Media types are validated and checked against the accepted list") func typesOfFiles() {
    for type in ["image/jpeg", "image/svg+xml", "application/octet-stream", "x/y.z-1"] {
      #expect(ContentTypes.isType(type))
    }
    for type in ["", "image", "image/", "/jpeg", "image/jpeg; a=b", "Image/JPEG", "image/jp eg", "a/b/c", "image/*"] {
      #expect(!ContentTypes.isType(type), "\(type)")
    }
    #expect(ContentTypes.usual.takes("image/heic") && ContentTypes.usual.takes("application/octet-stream"))
    for type in ["text/html", "image/svg+xml", "application/javascript"] { #expect(!ContentTypes.usual.takes(type)) }
    #expect(ContentTypes(["image/jpeg"]).takes("image/jpeg") && !ContentTypes(["image/jpeg"]).takes("image/png"))
  }
}
