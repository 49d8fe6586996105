import type { ApiClient } from '../shared/api-client.ts';
import { parse } from './volume-documents.ts';

/** An upload in parts. */
export interface Begun {
  id: string;
  /** ETags of the parts that are there, by number. */
  parts: Map<number, string>;
}

interface Source {
  url: string;
  volumeId: string;
  key: string;
  /** With the time of the file. */
  headers: { 'x-amz-meta-mtime': string };
  size: number;
  partBytes: number;
}

/** Resumes an interrupted upload of the same file, or begins one. */
export async function beginUpload(client: ApiClient, source: Source): Promise<Begun> {
  const begun = await findUpload(client, source);
  if (begun) return begun;
  const response = await client.send('POST', `${source.url}?uploads`, { headers: source.headers });
  return { id: (await parse(response, 'InitiateMultipartUploadResult')).UploadId, parts: new Map() };
}

async function findUpload(client: ApiClient, source: Source): Promise<Begun | undefined> {
  const query = new URLSearchParams({ uploads: '', prefix: source.key });
  const listed = await client.send('GET', `/s3/${source.volumeId}?${query}`);
  const { Upload: uploads = [] } = await parse(listed, 'ListMultipartUploadsResult');
  for (const { Key, UploadId: id } of uploads) {
    const parts = Key === source.key ? await findParts(client, source, id) : null;
    if (parts) return { id, parts };
  }
  return undefined;
}

/** Returns null for an upload of a file of another time, or whose parts are of other sizes. */
async function findParts(
  client: ApiClient,
  { url, headers, size, partBytes }: Source,
  id: string,
): Promise<Map<number, string> | null> {
  const parts = new Map<number, string>();
  for (let after = '0'; ; ) {
    const response = await client.send('GET', `${url}?uploadId=${id}&part-number-marker=${after}`);
    if (Number(response.headers.get('x-amz-meta-mtime')) !== Number(headers['x-amz-meta-mtime'])) return null;
    const page = await parse(response, 'ListPartsResult');
    for (const { PartNumber, ETag, Size } of page.Part ?? []) {
      const number = Number(PartNumber);
      if (Number(Size) !== Math.min(partBytes, size - (number - 1) * partBytes)) return null;
      parts.set(number, ETag);
    }
    if (page.IsTruncated !== 'true') return parts;
    after = page.NextPartNumberMarker!;
  }
}
