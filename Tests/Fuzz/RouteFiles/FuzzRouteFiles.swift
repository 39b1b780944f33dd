import FuzzSupport
import RESTRemote
import SyncModel

/// A route file is refused with a place, or accepted; then every field has a place of its own in a body.
@main
enum FuzzRouteFiles: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    do throws(RouteFileError) {
      let file = try RouteFile(json: String(decoding: bytes, as: UTF8.self))
      for (_, routes) in file.entities {
        guard let fields = routes.fields else { continue }
        var body = SyncObject()
        for (name, place) in fields { place.set(.text(name), in: &body) }
        for (name, place) in fields {
          require(place.value(in: .object(body)) == .text(name), "\(name) arrives at \(place)")
        }
      }
    } catch {
      require(!error.problems.isEmpty, "a refusal says why")
    }
  }
}
