#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The moisture of the air from a reading of temperature and relative humidity.
public enum Psychrometrics {
  /// Returns the saturation pressure of water vapour over water, in millibars.
  ///
  /// Source: O. A. Alduchov and R. E. Eskridge, "Improved Magnus Form Approximation of Saturation Vapor Pressure",
  /// Journal of Applied Meteorology 35 (1996), equation 21; within 0.4 % from -40 to 50 °C.
  /// - Parameter fahrenheit: the temperature of the air in °F.
  public static func saturationPressure(fahrenheit: Double) -> Double {
    let celsius = (fahrenheit - 32) / 1.8
    return 6.1094 * exp(17.625 * celsius / (celsius + 243.04))
  }

  /// Returns the dew point in °F: the inverse of ``saturationPressure(fahrenheit:)``.
  /// - Parameters:
  ///   - fahrenheit: the temperature of the air in °F.
  ///   - relativeHumidity: in %, above 0 and up to 100; returns `nil` for other values.
  public static func dewPoint(fahrenheit: Double, relativeHumidity: Double) -> Double? {
    guard relativeHumidity > 0, relativeHumidity <= 100 else { return nil }
    let ratio = log(saturationPressure(fahrenheit: fahrenheit) * relativeHumidity / 100 / 6.1094)
    return 243.04 * ratio / (17.625 - ratio) * 1.8 + 32
  }

  /// Returns the grains of water in a pound of dry air, the measure of drying (7,000 grains are a pound).
  ///
  /// Source: the mixing ratio 0.62198 e / (p - e) of the ASHRAE Handbook, Fundamentals, chapter 1.
  /// - Parameters:
  ///   - fahrenheit: the temperature of the air in °F.
  ///   - relativeHumidity: in %, 0 to 100; other values return `nil`.
  ///   - pressure: the pressure of the air in millibars; by default that at sea level.
  public static func grainsPerPound(
    fahrenheit: Double, relativeHumidity: Double, pressure: Double = 1013.25
  ) -> Double? {
    guard (0...100).contains(relativeHumidity) else { return nil }
    let vapour = saturationPressure(fahrenheit: fahrenheit) * relativeHumidity / 100
    guard pressure > vapour else { return nil }
    return 7000 * 0.62198 * vapour / (pressure - vapour)
  }
}
