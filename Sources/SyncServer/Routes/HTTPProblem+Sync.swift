import HTTPServer
import SyncModel

extension HTTPProblem {
  static let otherProtocol: HTTPProblem = {
    let versions = WireProtocol.accepted
    var problem = HTTPProblem(
      426, "Unsupported protocol version",
      "the request needs the header \(WireProtocol.header) with a version from \(versions.lowerBound) to \(versions.upperBound)",
      type: ServerProblem.otherProtocol)
    problem.headers = ["Upgrade": "fieldvault/\(versions.upperBound)"]
    return problem
  }()
  static let notReady = HTTPProblem(
    503, "The server cannot execute requests now", "its database does not respond", retryAfter: 1)
  static let keyReused = HTTPProblem(
    409, "The idempotency key is already used", "the server executed another operation with this key",
    type: ServerProblem.keyReused)
  static let deviceCopied = HTTPProblem(
    409, "The vault was copied", "another copy of the vault pushes with the same deviceId",
    type: ServerProblem.deviceCopied)
  static let deviceRevoked = HTTPProblem(
    403, "The device is revoked", "the operator of the server has revoked this device",
    type: ServerProblem.deviceRevoked)
  static func tooManyRecords(_ limit: Int) -> HTTPProblem {
    HTTPProblem(
      403, "The account has too many records",
      "the account has reached its limit of records (\(limit)); delete unneeded ones, or ask the operator of the server for a higher limit",
      type: ServerProblem.quotaExceeded)
  }
  static func tooManyDevices(_ limit: Int) -> HTTPProblem {
    HTTPProblem(
      403, "The account has too many devices",
      "the account has reached its limit of devices (\(limit)); ask the operator of the server for a higher limit",
      type: ServerProblem.quotaExceeded)
  }
  static let notForAdmins = HTTPProblem(
    403, "The role of the token does not allow this", "a token with the role admin can neither push nor pull")
}
