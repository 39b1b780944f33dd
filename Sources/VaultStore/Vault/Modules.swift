// The vault returns values of these modules.
@_exported import Attachments
@_exported import Outbox
@_exported import RecordStore
@_exported import SchemaModel
