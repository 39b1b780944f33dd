import SyncModel
import TestSupport

extension SimulatedAPI {
  /// Changes a resource as users of other programs do.
  func actAsOther() {
    let entity = random.pick(style.entities)
    let type = entity.kind.entity
    let resources = store.all(type)
    do throws(APIStore.Refusal) {
      guard let resource = resources.isEmpty ? nil : random.pick(resources), random.chance(0.75) else {
        return try createAsOther(entity)
      }
      switch random.number(0..<10) {
      case 0:
        try store.delete(type, resource.id)
        trace.note("API", "another program deletes \(type) \(resource.id)")
      case 1:
        store.setBroken(!resource.isBroken, type, resource.id)
        trace.note("API", "\(type) \(resource.id) is \(resource.isBroken ? "whole" : "broken")")
      default:
        let fields: SyncObject =
          random.chance(0.5) ? ["title": .text(title())] : ["note": random.pick(["x", "y", .null])]
        _ = try store.update(type, resource.id, fields)
        trace.note("API", "another program edits \(type) \(resource.id)")
      }
    } catch {
      trace.note("API", "refuses another program")
    }
  }

  private func createAsOther(_ entity: APIStyle.EntityStyle) throws(APIStore.Refusal) {
    var fields: SyncObject = ["title": .text(title()), "code": .text("other-\(random.next())"), "note": .null]
    fields["amount"] = random.pick([2, .null])
    for reference in entity.kind.references {
      let targets = store.all(reference.entity)
      if targets.isEmpty || reference.isOptional && random.chance(0.5) {
        if !reference.isOptional { return }
        fields[reference.columns[0]] = .null
      } else {
        fields[reference.columns[0]] = .integer(random.pick(targets).id)
      }
    }
    let resource = try store.create(entity.kind.entity, fields, key: nil, creator: nil)
    trace.note("API", "another program creates \(entity.kind.entity) \(resource.id)")
  }

  private func title() -> String { "OTHER-\(String(random.next(), radix: 36))" }
}
