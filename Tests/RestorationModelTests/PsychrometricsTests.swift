import Testing

@testable import RestorationModel

/// Checked against published values.
@Suite struct PsychrometricsTests {
  /// Saturation pressure over water in millibars: Smithsonian Meteorological Tables, table 94.
  @Test(
    "The saturation pressure agrees with the Smithsonian tables within 0.4 %",
    arguments: [(32.0, 6.11), (50.0, 12.27), (68.0, 23.37), (86.0, 42.43), (104.0, 73.78)])
  func saturationPressure(_ fahrenheit: Double, _ millibars: Double) {
    #expect(abs(Psychrometrics.saturationPressure(fahrenheit: fahrenheit) / millibars - 1) < 0.004)
  }

  /// Grains per pound at sea level: ASHRAE psychrometric chart no. 1 (humidity ratio 0.00935 at 75 °F and 50 %,
  /// 0.0158 at 70 °F saturated).
  @Test(
    "The humidity ratio agrees with the ASHRAE chart within 1 %",
    arguments: [(75.0, 50.0, 65.0), (70.0, 100.0, 110.5), (90.0, 60.0, 128.0)])
  func grainsPerPound(_ fahrenheit: Double, _ humidity: Double, _ grains: Double) throws {
    let value = try #require(Psychrometrics.grainsPerPound(fahrenheit: fahrenheit, relativeHumidity: humidity))
    #expect(abs(value / grains - 1) < 0.01, "\(value)")
  }

  @Test("The dew point of saturated air is its temperature") func theDewPointOfSaturatedAirIsItsTemperature() throws {
    for fahrenheit in stride(from: -20.0, through: 110, by: 10) {
      let value = try #require(Psychrometrics.dewPoint(fahrenheit: fahrenheit, relativeHumidity: 100))
      #expect(abs(value - fahrenheit) < 1e-9)
    }
  }

  @Test("A humidity outside 0 to 100 % has no dew point and no humidity ratio") func impossibleHumidityHasNoResult() {
    #expect(Psychrometrics.dewPoint(fahrenheit: 70, relativeHumidity: 0) == nil)
    #expect(Psychrometrics.dewPoint(fahrenheit: 70, relativeHumidity: 101) == nil)
    #expect(Psychrometrics.grainsPerPound(fahrenheit: 70, relativeHumidity: -1) == nil)
  }
}
