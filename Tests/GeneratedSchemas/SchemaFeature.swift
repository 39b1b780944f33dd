/// A feature of generated schemas. The tests count the schemas that have each.
package enum SchemaFeature: String, CaseIterable, Sendable {
  // Tables.
  case strictTable, otherTable, hasSerialKey, commonFieldsFirst, textServerId, mixedTables
  // Columns.
  case integer, real, text, blob, any, bool, listedEnumeration, comparedEnumeration, timestamp, day, uuid, json, set
  case freeType, mixedStorage, bounded, collation
  case notNullWithDefault, requiredWithoutDefault, expressionDefault
  case storedColumn, virtualColumn, computed, alwaysComputed, localOnly, crossCheck
  // Foreign keys.
  case toPrimaryKey, toImplicitKey, toUUID, toUniqueColumn, toSeveralColumns, toNoCaseColumn
  case selfReference, cycle, requiredReference, optionalReference
  case cascade, setNull, setDefault, setDefaultValue, restrict, noAction, updateCascade
  case deferred, deferrable, referenceWithoutIndex, otherCaseOfName, changingKey
  // UNIQUE.
  case uniqueColumn, uniqueColumns, uniqueWithReference, uniqueNoCase, partialUnique, uniqueRequired, uniqueExpression
  // The registry.
  case manual, lastWriteWins, serverWins, clientWins, merge
  case ownedByServer, ownedByUser, ownedByUserAfterEdit
  case priority0, priority1, priority2, priority3
  // Other objects and names.
  case view, fullText, difficultTable, difficultColumn, difficultEntity
}
