extension CommandDescription {
  /// The command that prints completions; run it with ``Program/completions(for:)``.
  public static func completions(group: String = "") -> Self {
    Self(
      "completions", group: group, summary: "a script that completes this program's words in a shell",
      discussion: """
        bash: add `source <(PROGRAM completions bash)` to ~/.bashrc.
        zsh: write it to a file named _PROGRAM in a folder of $fpath.
        fish: write it to ~/.config/fish/completions/PROGRAM.fish.
        """,
      arguments: [.required("SHELL", "the shell to write for", allowed: Shell.allCases.map(\.rawValue))])
  }

  /// The command that prints the version.
  public static func version(group: String = "") -> Self {
    Self("version", group: group, summary: "the version of this program")
  }
}

/// A shell for which completions can be written.
public enum Shell: String, Sendable, CaseIterable {
  /// bash 3.2 and later. macOS has 3.2.
  case bash
  /// zsh 5 and later.
  case zsh
  /// fish 3 and later.
  case fish
}
