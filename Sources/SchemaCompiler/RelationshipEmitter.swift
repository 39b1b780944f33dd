import CipherSQL

/// Writes the relationships of a table: to the referenced records, and to the referencing ones.
struct RelationshipEmitter {
  let model: Model

  func emit(_ table: Catalog.Table, _ code: inout CodeWriter) {
    let outgoing = references(from: table)
    let incoming = model.catalog.tables.filter { model.isEmitted($0) && $0.kind == .table }.flatMap { source in
      references(from: source).filter { $0.target.name == table.name }.map { (source: source, reference: $0) }
    }
    guard !outgoing.isEmpty || !incoming.isEmpty else { return }
    let type = model.typeName(of: table)
    code.block("extension \(type)") { code in
      for (index, reference) in outgoing.enumerated() {
        if index > 0 { code.line() }
        toOne(reference, from: table, &code)
      }
      var names: Set<String> = []
      for (source, reference) in incoming {
        if !outgoing.isEmpty || !names.isEmpty { code.line() }
        let plural = SwiftNames.plural(model.typeName(of: source))
        let isAmbiguous =
          source.name == table.name || incoming.count { $0.source.name == source.name } > 1 || names.contains(plural)
        let by = SwiftNames.reference(reference.from.name).filter { $0 != "`" }
        let name = isAmbiguous ? plural + "By" + by.prefix(1).uppercased() + by.dropFirst() : plural
        names.insert(name)
        toMany(name, source, reference, to: type, &code)
      }
    }
    code.line()
  }

  private struct Reference {
    let from: Catalog.Column
    let to: Catalog.Column
    let target: Catalog.Table
  }

  /// The references of one column to a table that becomes Swift in this run.
  private func references(from table: Catalog.Table) -> [Reference] {
    table.foreignKeys.compactMap { key in
      guard key.columns.count == 1, let pair = key.columns.first, let from = table.column(pair.from),
        let target = model.catalog.table(key.table), model.isEmitted(target), let to = target.column(pair.to),
        to.isNotNull
      else { return nil }
      return Reference(from: from, to: to, target: target)
    }
  }

  private func toOne(_ reference: Reference, from table: Catalog.Table, _ code: inout CodeWriter) {
    let type = model.typeName(of: table)
    let target = model.typeName(of: reference.target)
    let key = model.baseType(of: reference.to, in: reference.target)
    code.line("/// The \(target) that `\(reference.from.name)` refers to.")
    code.line("public static let \(SwiftNames.reference(reference.from.name)) = ToOne<\(type), \(target), \(key)>(")
    code.indented { code in
      code.line("targetColumn: \(swiftLiteral(reference.to.name)),")
      code.line("sourceKey: { $0.\(model.member(reference.from, of: table)) },")
      code.line("targetKey: { $0.\(model.member(reference.to, of: reference.target)) })")
    }
  }

  private func toMany(
    _ name: String, _ source: Catalog.Table, _ reference: Reference, to type: String, _ code: inout CodeWriter
  ) {
    let other = model.typeName(of: source)
    let key = model.baseType(of: reference.to, in: reference.target)
    code.line("/// The \(other) records whose `\(reference.from.name)` refers to this one.")
    code.line("public static let \(name) = ToMany<\(type), \(other), \(key)>(")
    code.indented { code in
      code.line("targetColumn: \(swiftLiteral(reference.from.name)),")
      code.line("sourceKey: { $0.\(model.member(reference.to, of: reference.target)) },")
      code.line("targetKey: { $0.\(model.member(reference.from, of: source)) })")
    }
  }
}
