/**
 * The documents of public clients, as far as names go: operations, fields, arguments and types are theirs, everything else is ours.
 * `<pod>` and the like stand for ids (graphql-documents.test.ts). A version is the client's commit in which the names were
 * read.
 */
export interface ClientDocument {
  client: string;
  version: string;
  query: string;
  variables?: Record<string, unknown>;
}

export const GPU = 'NVIDIA GeForce RTX 4090';

export const POD_FIELDS = `id containerDiskInGb costPerHr desiredStatus dockerArgs dockerId env gpuCount imageName lastStatusChange machineId
  memoryInGb name podType port ports uptimeSeconds vcpuCount volumeInGb volumeMountPath
  runtime { ports { ip isIpPublic privatePort publicPort type } }`;

type Given = string | [query: string, variables: Record<string, unknown>];

/** Names the client and the version of each document. */
export function documents(client: string, versions: Record<string, readonly Given[]>): ClientDocument[] {
  return Object.entries(versions).flatMap(([version, given]) =>
    given.map((one) =>
      typeof one === 'string' ? { client, version, query: one } : { client, version, query: one[0], variables: one[1] },
    ),
  );
}
