/// A plot of one quantity over time as SVG: a bar for each value, with the value as its title.
package struct BarPlot: Sendable {
  /// A bar.
  package struct Bar: Sendable {
    let value: Double
    /// The text that a pointer over the bar shows.
    let title: String
    /// Whether the bar marks a failure.
    let isFailed: Bool

    /// - Parameter value: negative and infinite values are drawn as 0.
    package init(_ value: Double, title: String, isFailed: Bool = false) {
      (self.value, self.title, self.isFailed) = (value.isFinite ? max(0, value) : 0, title, isFailed)
    }
  }

  let title: String
  /// Formats a value of the axis.
  let format: @Sendable (Double) -> String
  let bars: [Bar]

  package init(_ title: String, _ bars: [Bar], format: @escaping @Sendable (Double) -> String) {
    (self.title, self.bars, self.format) = (title, bars, format)
  }

  private static let (width, height, left, bottom) = (640.0, 140.0, 70.0, 16.0)

  /// The source of the plot. A screen reader reads the title and the greatest value.
  package var html: HTML {
    let top = bars.map(\.value).max() ?? 0
    let space = Self.height - Self.bottom
    let step = min(24, (Self.width - Self.left) / Double(max(1, bars.count)))
    let drawn = bars.enumerated().map { index, bar -> HTML in
      let height = top > 0 ? bar.value / top * (space - 8) : 0
      let x = Self.left + Double(index) * step
      // A bar of 0 with a failure stays visible.
      let shown = bar.isFailed ? max(height, 2) : height
      return """
        <rect class="bar\(bar.isFailed ? " failed" : "")" x="\(Self.number(x))" y="\(Self.number(space - shown))" \
        width="\(Self.number(max(1, step - 1)))" height="\(Self.number(shown))"><title>\(bar.title)</title></rect>
        """
    }
    return """
      <figure><figcaption>\(title)</figcaption><svg viewBox="0 0 \(Self.number(Self.width)) \(Self.number(Self.height))" \
      width="640" height="140" role="img" aria-label="\(title): \(bars.count) values, the greatest is \(format(top))">\
      <text x="0" y="16">\(format(top))</text><text x="0" y="\(Self.number(space))">\(format(0))</text>\
      <line class="axis" x1="\(Self.number(Self.left))" y1="\(Self.number(space))" x2="\(Self.number(Self.width))" \
      y2="\(Self.number(space))"/>\(drawn)</svg></figure>
      """
  }

  /// A coordinate with one decimal.
  private static func number(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}
