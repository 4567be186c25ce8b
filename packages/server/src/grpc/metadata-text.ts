/**
 * Metadata is JSON text in messages. A google.protobuf.Struct would turn its integers into doubles, and protobufjs, like
 * most, refuses to encode what is nested deeper than a hundred messages: metadata that came by HTTP could not be told.
 */
export function withMetadataText<T extends { metadata?: Record<string, unknown> }>(
  shape: T,
): Omit<T, "metadata"> & { metadata?: string } {
  const { metadata, ...rest } = shape;
  return metadata === undefined ? rest : { ...rest, metadata: JSON.stringify(metadata) };
}
