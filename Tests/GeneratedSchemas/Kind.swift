import CipherSQL

/// A kind of record that the simulation writes: an entity with the columns and values of its users.
package struct Kind: Sendable {
  /// A reference to another kind, or to the same kind.
  package struct Reference: Sendable {
    /// The referencing columns.
    package let columns: [String]
    /// The entity of the referenced records.
    package let entity: String
    /// Whether a record may have no such reference.
    package let isOptional: Bool
    /// The referenced columns; `nil` for the primary key.
    package let targets: [String]?

    package init(_ columns: [String], _ entity: String, isOptional: Bool, targets: [String]? = nil) {
      (self.columns, self.entity, self.isOptional, self.targets) = (columns, entity, isOptional, targets)
    }
  }

  /// A column without which no record can be created.
  package struct Required: Sendable {
    package enum Value: Sendable {
      case fixed(SQLArgument)
      /// One of several values.
      case oneOf([SQLArgument])
      /// A value that no other record has.
      case uniqueText, uniqueInteger
    }
    package let column: String
    package let value: Value

    package init(column: String, value: Value) { (self.column, self.value) = (column, value) }
  }

  /// The entity type.
  package let entity: String
  package let table: String
  package let key: String
  /// A text column that gets a value which is never used again.
  package let marker: String
  /// Other columns, and values for them.
  package let others: [(column: String, values: [SQLArgument])]
  package let references: [Reference]
  /// How often the kind is chosen.
  package let weight: Int
  package let required: [Required]
  /// Columns of a UNIQUE constraint whose values swap between records; the last takes NULL.
  package let swapped: [[String]]
  /// Required columns whose values users change: keys, and columns of UNIQUE constraints.
  package let renewed: [Required]

  package init(
    entity: String, table: String, key: String, marker: String, others: [(column: String, values: [SQLArgument])],
    references: [Reference], weight: Int, required: [Required], swapped: [[String]] = [], renewed: [Required] = []
  ) {
    (self.entity, self.table, self.key, self.marker) = (entity, table, key, marker)
    (self.others, self.references, self.weight, self.required) = (others, references, weight, required)
    (self.swapped, self.renewed) = (swapped, renewed)
  }
}
