import FuzzSupport
import SyncModel

/// Responses to push, changes, digests and the other requests of a device. The first byte chooses the message.
@main
enum FuzzResponses: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let body = Array(bytes.dropFirst())
    switch first {
    case UInt8(ascii: "p"): check(PushResponse.self, body)
    case UInt8(ascii: "c"): check(ChangesPage.self, body)
    case UInt8(ascii: "e"): check(EntityDigests.self, body)
    case UInt8(ascii: "b"): check(BucketDigests.self, body)
    case UInt8(ascii: "d"): check(RecordDigests.self, body)
    case UInt8(ascii: "r"): check(RecordsResponse.self, body)
    case UInt8(ascii: "a"): check(AccountInfo.self, body)
    case UInt8(ascii: "h"): check(ServerHealth.self, body)
    case UInt8(ascii: "w"): check(WatchResponse.self, body)
    case UInt8(ascii: "f"): check(FileAddress.self, body)
    case UInt8(ascii: "m"): check(MissingFilesResponse.self, body)
    default: check(ServerProblem.self, body)
    }
  }
}

/// A message that was read is written so that it reads back as the same.
private func check<Message: WireMessage>(_ type: Message.Type, _ body: [UInt8]) {
  guard let message = try? Message(json: body) else { return }
  let wire = message.wire
  require((try? Message(wire: wire))?.wire == wire, "\(type) reads back: \(wire.json)")
}
