import FuzzSupport
import Platform

@testable import FileServer
@testable import HTTPServer
@testable import SyncServer

/// The head of a request is refused with status 400, or means one thing: written again it is read as the same request. So are the
/// headers of an upload and of a download. The input is the text of a head.
@main
enum FuzzRequestHeads: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    do throws(HTTPProblem) {
      let request = try RequestHead(text: String(decoding: bytes, as: UTF8.self)).request()
      checkPath(request.path)
      do throws(HTTPProblem) {
        let again = try RequestHead(request).request()
        require(again.method == request.method && again.path == request.path, "path \(request.path)")
        require(again.query == request.query, "parameters \(request.query)")
        require(again.headers == request.headers, "headers \(request.headers)")
      } catch {
        fatalError("does not hold: what was read can be read again: \(request) \(error)")
      }
      checkUpload(request)
      checkRange(request)
    } catch {
      require(error.status == 400 && error.detail.utf8.count < 200, "a refusal is short and has status 400")
    }
  }

  private static func checkPath(_ path: String) {
    if path == "*" { return }
    // By bytes: a slash and a combining character behind it are one Character.
    let parts = path.utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
    require(
      path.utf8.first == UInt8(ascii: "/") && !parts.contains("..") && !parts.contains("."), "path \(path)")
    require(path.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f && $0 != 0x5c }, "path \(path)")
  }

  private static func checkUpload(_ request: Request) {
    let limit: Int64 = 1 << 40
    let headers = UploadHeaders(request: request)
    refusing {
      let offset = try headers.offset()
      require(offset >= 0, "offset \(offset)")
    }
    refusing {
      if let length = try headers.lengthOfNew(limit: limit) {
        require((0...limit).contains(length), "length \(length)")
      }
    }
    refusing { _ = try headers.hasContent() }
    refusing {
      if let checksum = try UploadChecksum(request) {
        require(
          !checksum.matches(checksum.hasher()) || request.headers["upload-checksum"] != nil, "a checksum is compared")
      }
    }
    refusing {
      let metadata = try UploadMetadata(request, random: .system)
      require(UUIDText.isCanonical(metadata.name.content), "content \(metadata.name.content)")
      require(metadata.text == request.headers["upload-metadata"] ?? "", "metadata comes back as it was")
      let name = "\(metadata.name.content)/\(metadata.name.variant.rawValue)"
      require(ContentName(text: name) == metadata.name, "name \(name)")
    }
    if let length = headers.bodyLength { require(length >= 0, "body length \(length)") }
  }

  private static func checkRange(_ request: Request) {
    guard let text = request.headers["range"] else { return }
    for count in [0, 1, 10, Int64.max] {
      guard case .part(let part) = ByteRange(text, of: count) else { continue }
      require(!part.isEmpty && part.lowerBound >= 0 && part.upperBound <= count, "range \(part) of \(count)")
    }
  }

  private static func refusing(_ body: () throws -> Void) {
    do {
      try body()
    } catch let problem as HTTPProblem {
      require((400..<500).contains(problem.status), "status \(problem.status)")
    } catch {
      fatalError("a header fails with another error: \(error)")
    }
  }
}
