import FuzzSupport
import RESTRemote
import SyncModel
import HTTPClient

/// Responses of a REST API: status, body and the address of a next page. The input is a status (two bytes), the length of a
/// reference (one byte), the reference, the body.
@main
enum FuzzRESTResponses: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    guard bytes.count >= 3 else { return }
    let status = 200 + (Int(bytes[0]) << 8 | Int(bytes[1])) % 400
    let rest = bytes.dropFirst(3)
    let reference = String(decoding: rest.prefix(Int(bytes[2])), as: UTF8.self)
    let body = Array(rest.dropFirst(Int(bytes[2])))
    let response = RestResponse(HTTPResponse(status: status, contentType: "application/json", body: body), rules)
    if case .invalid(_, let detail) = response { require(detail.count <= 400, "a reason is short") }
    guard let address, let url = try? address.resolved(reference, from: "/v1/items?page=1"), address.isOrigin(of: url)
    else {
      return
    }
    let after = url.dropFirst("https://api.example.org".count).first
    require(
      url.hasPrefix("https://api.example.org") && [nil, "/", "?", ":"].contains(after), "\(reference) stays: \(url)")
  }
}

private let address = try? ServerAddress("https://api.example.org/base")
private let rules: ResponseRules = {
  let json = """
    {"format": 1, "service": "x", "answers": {"record": "data", "ok": "success", "problem": ["error.message", "errors"],
      "meanings": {"409": "done", "423": "later"}}, "entities": {"A": {"get": "GET /a/{id}"}}}
    """
  do throws(RouteFileError) {
    return try RouteFile(json: json).responseRules
  } catch {
    fatalError("\(error)")
  }
}()
