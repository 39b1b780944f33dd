import VaultStore
import SyncModel

/// The values of one record on their way into a request.
struct RestBody: Sendable {
  let records: RestRecords
  let routes: EntityRoutes
  let table: RecordTable
  let uuid: String
  /// The id of the record itself at the API; nil before it has one.
  var serverId: ServerId?
  /// All fields as this device has them, overlaid with the sent ones.
  var fields: SyncObject

  /// The reason why a request cannot be built.
  struct Missing: Error {
    let message: String
    /// Whether the reason can disappear: a list may still bring the id of a referenced record.
    var isForNow = false
  }

  /// The path of a call.
  func path(_ template: PathTemplate) async throws -> String {
    var values: [[String]: String] = [:]
    for names in template.placeholders { values[names] = try await value(names) }
    do {
      return try template.path { values[$0] ?? "" }.replacing("%7Bkey%7D", with: "{key}")
    } catch let unfit as PathTemplate.UnsafePathValue {
      let text = unfit.value.isEmpty ? "empty" : "'\(unfit.value)'"
      throw Missing(
        message: "{\(unfit.names.joined(separator: "."))} is \(text), which would change the path")
    }
  }

  /// Returns the members of a body.
  /// - Parameters:
  ///   - names: these fields only; `nil` for all sent fields.
  ///   - cleared: fields that are sent as null, because the API has another value.
  func members(only names: Set<String>? = nil, cleared: Set<String> = []) async throws -> SyncObject {
    var body = SyncObject()
    for (name, place) in routes.sentFields(of: table).sorted(by: { $0.key < $1.key }) {
      if let names, !names.contains(name) { continue }
      guard let value = fields[name] else { continue }
      // A field that never had a value is left out, because not every API accepts null.
      if names == nil, value == .null, !cleared.contains(name) { continue }
      place.set(try await said(value, name), in: &body)
    }
    return body
  }

  /// A value as the API has it: of a reference its own id of the other record.
  func said(_ value: SyncValue, _ name: String) async throws -> SyncValue {
    guard let column = table.columns.first(where: { $0.name == name }), let reference = column.reference,
      case .text(let uuid) = value
    else { return value }
    return try await id(of: reference.entityType, uuid, name).value
  }

  private func value(_ names: [String]) async throws -> String {
    if names == ["id"] {
      guard let serverId else { throw Missing(message: "the API has not sent an id for this record") }
      return serverId.description
    }
    if names == ["uuid"] { return uuid }
    // The key of an upload is known only when the API has given it.
    if names == ["key"] { return "{key}" }
    var (table, fields) = (table, fields)
    for (index, name) in names.enumerated() {
      guard let column = table.columns.first(where: { $0.name == name }) else {
        throw Missing(message: "\(table.entity.type) has no field '\(name)'")
      }
      guard let reference = column.reference else {
        switch fields[name] {
        case .text(let text)?: return text
        case .integer(let number)?: return String(number)
        default: throw Missing(message: "the field \(name) is empty, but the path requires it")
        }
      }
      guard case .text(let other)? = fields[name] else {
        throw Missing(message: "the field \(name) is empty, but the path requires it")
      }
      let rest = names[(index + 1)...]
      if rest.isEmpty || Array(rest) == ["id"] {
        return try await id(of: reference.entityType, other, name).description
      }
      if Array(rest) == ["uuid"] { return other }
      guard let next = records.table(reference.entityType),
        let record = try await records.record(reference.entityType, other)
      else { throw Missing(message: "the record that \(name) refers to is not on this device") }
      (table, fields) = (next, record.state.fields)
    }
    throw Missing(message: "{\(names.joined(separator: "."))} has no value")
  }

  private func id(of type: String, _ uuid: String, _ name: String) async throws -> ServerId {
    guard let id = try await records.record(type, uuid)?.serverId else {
      throw Missing(message: "the \(type) that \(name) refers to has no id on the server yet", isForNow: true)
    }
    return id
  }
}
