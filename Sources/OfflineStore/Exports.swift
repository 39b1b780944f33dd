@_exported import RecordStore
@_exported import SchemaModel
