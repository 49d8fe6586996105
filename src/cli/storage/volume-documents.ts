import { XMLParser } from 'fast-xml-parser';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';

/** A file of a volume, or a directory, whose key ends with a slash. */
export interface FoundFile {
  key: string;
  size: number;
  modified: string | null;
}

/** Yields what is in a volume under a prefix, page by page. */
export async function* listKeys(
  client: ApiClient,
  volumeId: string,
  prefix: string,
  delimiter: string,
): AsyncGenerator<FoundFile> {
  for (let token: string | undefined; ; ) {
    const query = new URLSearchParams({ 'list-type': '2', 'encoding-type': 'url', prefix, delimiter });
    if (token !== undefined) query.set('continuation-token', token);
    const page = await parse(await client.send('GET', `/s3/${volumeId}?${query}`), 'ListBucketResult');
    const folders = (page.CommonPrefixes ?? []).map(({ Prefix }) => ({
      key: decodeURIComponent(Prefix),
      size: 0,
      modified: null,
    }));
    const files = (page.Contents ?? []).map(({ Key, Size, LastModified }) => ({
      ...{ key: decodeURIComponent(Key), size: Number(Size), modified: LastModified },
    }));
    yield* [...folders, ...files];
    if (page.IsTruncated !== 'true') return;
    token = page.NextContinuationToken;
  }
}

interface Documents {
  InitiateMultipartUploadResult: { UploadId: string };
  ListMultipartUploadsResult: { Upload?: { Key: string; UploadId: string }[] };
  ListPartsResult: {
    IsTruncated: string;
    NextPartNumberMarker?: string;
    Part?: { PartNumber: string; ETag: string; Size: string }[];
  };
  ListBucketResult: {
    IsTruncated: string;
    NextContinuationToken?: string;
    CommonPrefixes?: { Prefix: string }[];
    Contents?: { Key: string; Size: string; LastModified: string }[];
  };
}

const parser = new XMLParser({
  parseTagValue: false,
  trimValues: false,
  isArray: (name) => ['Contents', 'CommonPrefixes', 'Upload', 'Part'].includes(name),
});

/** Reads a document of S3. */
export async function parse<Name extends keyof Documents>(response: Response, name: Name): Promise<Documents[Name]> {
  return (parser.parse(await response.text()) as Documents)[name];
}

/** A completion that takes long may fail after its status was sent. */
export async function checkDone(response: Response): Promise<void> {
  const { Error: error } = parser.parse(await response.text()) as { Error?: { Message: string } };
  if (error) throw new ApiRefusal(500, error.Message);
}

/** Slashes stay. */
export function encodeKey(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/');
}
