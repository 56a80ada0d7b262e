import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication

@Suite("Shipping") struct ShippingTests {
  @Test("ships what is saved, takes receipts, and rests") func ships() throws {
    let fixture = try Fixture()
    try fixture.append(10)
    fixture.run()
    try fixture.expectAllAccepted()
    #expect(fixture.status.accepted >= 10)
    #expect(fixture.evidence.receiptedSize == fixture.status.accepted)
    let requests = fixture.requests.count
    fixture.pass(3_600_000_000_000)
    fixture.run()
    #expect(fixture.requests.count == requests)
  }
}
