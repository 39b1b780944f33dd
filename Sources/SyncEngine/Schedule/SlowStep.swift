extension RoundStep {
  /// The seconds after which a step is noted in the vault, so that a trace shows what an endless round waits for; `nil`
  /// for the last step.
  var slowSeconds: Int? { isFinish ? nil : 5 }
}
