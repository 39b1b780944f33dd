import Foundation

/// Drives the completion of a real zsh at a pseudo-terminal.
package enum ZshCompletions {
  /// The beginning of an interactive shell: `compadd` writes the offered words to a file, and offers nothing.
  private static let start = """
    PROMPT= RPROMPT=
    autoload -U compinit; compinit -u -D
    source $FOLDER/script
    compadd() {
      if [[ ${@[(I)-[OAD]]} -gt 0 ]]; then builtin compadd "$@"; return; fi
      local -a words
      builtin compadd -O words "$@"
      (($#words == 0)) || print -rl -- $words >> $FOLDER/offered
    }
    bindkey '^I' complete-word
    leave() { exit }
    zle -N leave
    bindkey '^X' leave
    print READY
    """
  /// Types a line, the tab key and Control-X.
  private static let driver = """
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell 'source $FOLDER/start; : END'
    zpty -r -m shell text '*READY*'
    zpty -n -w shell "$1"$'\\t\\x18'
    while zpty -r shell text; do :; done
    """

  /// Returns the words that zsh offers at the end of a line, sorted; `nil` if zsh is not installed.
  /// - Parameters:
  ///   - script: the completion script of the program.
  ///   - path: the folder of the program, if the script asks it for values.
  ///   - variables: further variables of the environment.
  package static func words(
    after line: String, script: String, path: String? = nil, variables: [String: String] = [:]
  ) throws -> [String]? {
    guard let zsh = tool("zsh") else { return nil }
    let folder = try TemporaryFolder()
    try folder.write(script, to: "script")
    try folder.write(start, to: "start")
    try folder.write(driver, to: "driver")
    try folder.write("", to: "offered")
    let child = try ChildProcess(
      zsh, ["-f", folder.file("driver"), line],
      environment: [
        "PATH": (path.map { "\($0):" } ?? "") + "/usr/bin:/bin", "FOLDER": folder.path, "HOME": folder.path,
        "TERM": "xterm",
      ].merging(variables) { $1 },
      output: .file(folder.file("output")), errors: .file(folder.file("errors")))
    guard let ending = child.wait(within: .seconds(60)), ending.status == 0 else {
      throw Unexpected("zsh did not complete '\(line)'")
    }
    let offered = try String(contentsOfFile: folder.file("offered"), encoding: .utf8)
    return Set(offered.split(separator: "\n").map(String.init)).sorted()
  }
}
