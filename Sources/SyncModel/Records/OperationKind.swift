/// The effect of an operation on its record at the server. The raw values are those of the outbox.
public enum OperationKind: String, CaseIterable, Sendable {
  case create, update, delete
}
