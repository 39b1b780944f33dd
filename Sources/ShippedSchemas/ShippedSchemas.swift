import CipherSQL

extension Schema {
  /// The schemas that ship with FieldVault, as SQL without Swift types for their tables. Programs without record types,
  /// such as a server, use them.
  package static let shipped: [Schema] = [RestorationSchema.schema, RangeSchema.schema, ReceiptsSchema.schema]
}
