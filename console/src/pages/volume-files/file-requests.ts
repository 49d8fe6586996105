/** The files of a network volume, over S3 with the session of the console (docs/interface/s3.md). */
import { ApiError, unreachable } from '../../api/api-error.ts';
import { authorization, BASE_URL, requestAny } from '../../api/client.ts';

export interface FoundFile {
  key: string;
  /** The last part of the key. */
  name: string;
  isDirectory: boolean;
  size: number;
  modified: string | null;
}

export interface FilePage {
  files: FoundFile[];
  /** The name that the next page begins after; null: it is the last. */
  next: string | null;
}

/** Larger files are sent in parts, each again if the connection breaks. */
const PART_BYTES = 64 * 2 ** 20;
const ATTEMPTS = 5;
const AGAIN_MS = 2_000;

/** Returns a page of what is in a directory: `path` is empty, or ends with a slash. */
export async function listFiles(volume: string, path: string, token: string | null): Promise<FilePage> {
  const page = await list(volume, { prefix: path, delimiter: '/' }, token);
  const textOf = (element: Element, name: string) => element.getElementsByTagName(name)[0]?.textContent ?? '';
  const folders = [...page.getElementsByTagName('CommonPrefixes')].map((element) => {
    const key = decodeURIComponent(textOf(element, 'Prefix'));
    return { key, name: key.slice(path.length, -1), isDirectory: true, size: 0, modified: null };
  });
  const files = [...page.getElementsByTagName('Contents')].map((element) => {
    const key = decodeURIComponent(textOf(element, 'Key'));
    const [size, modified] = [Number(textOf(element, 'Size')), textOf(element, 'LastModified')];
    return { key, name: key.slice(path.length), isDirectory: false, size, modified };
  });
  const next = page.getElementsByTagName('NextContinuationToken')[0]?.textContent ?? null;
  return { files: [...folders, ...files.filter(({ name }) => name !== '')], next };
}

/** Returns the first bytes of a file, at most `limit`. */
export async function readFile(volume: string, key: string, limit: number): Promise<Blob> {
  const response = await requestAny(pathOf(volume, key), { headers: { range: `bytes=0-${limit - 1}` } });
  if (response.status === 416) return new Blob([]); // it is empty
  return (await checked(response)).blob();
}

/** Sends a file. `onProgress` is called with the bytes that have been sent. */
export async function uploadFile(
  volume: string,
  key: string,
  file: File,
  onProgress: (bytes: number) => void,
): Promise<void> {
  const path = pathOf(volume, key);
  if (file.size <= PART_BYTES) {
    await send(path, file, onProgress);
    return;
  }
  const begun = await documentOf(await checked(await requestAny(`${path}?uploads`, { method: 'POST' })));
  const upload = `uploadId=${begun.getElementsByTagName('UploadId')[0]?.textContent}`;
  try {
    const parts: string[] = [];
    for (let at = 0; at < file.size; at += PART_BYTES) {
      const number = parts.length + 1;
      const part = file.slice(at, at + PART_BYTES);
      const etag = await send(`${path}?partNumber=${number}&${upload}`, part, (bytes) => onProgress(at + bytes));
      parts.push(`<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag></Part>`);
    }
    const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
    await documentOf(await checked(await requestAny(`${path}?${upload}`, { method: 'POST', body })));
  } catch (error) {
    await requestAny(`${path}?${upload}`, { method: 'DELETE' }).catch(() => {});
    throw error;
  }
}

/** Deletes a file, or a directory with everything in it, innermost first. */
export async function deleteFile(volume: string, { key, isDirectory }: FoundFile): Promise<void> {
  if (!isDirectory) {
    await checked(await requestAny(pathOf(volume, key), { method: 'DELETE' }));
    return;
  }
  let before = '';
  for (;;) {
    const page = await list(volume, { prefix: key }, null);
    const keys = [...page.getElementsByTagName('Key')].map((element) => decodeURIComponent(element.textContent ?? ''));
    if (keys.length === 0) return;
    if (keys.join('\0') === before)
      throw new ApiError(409, `${keys[0]} can't be deleted: it holds something that is no file.`);
    before = keys.join('\0');
    const objects = keys.map((one) => `<Object><Key>${escapeXml(one)}</Key></Object>`);
    const body = `<Delete>${objects.join('')}</Delete>`;
    const outcome = await documentOf(await checked(await requestAny(`/s3/${volume}?delete`, { method: 'POST', body })));
    const refusal = outcome.getElementsByTagName('Message')[0]?.textContent;
    if (refusal) throw new ApiError(400, refusal);
  }
}

function pathOf(volume: string, key: string): string {
  return `/s3/${volume}/${key.split('/').map(encodeURIComponent).join('/')}`;
}

async function list(volume: string, query: Record<string, string>, token: string | null): Promise<Document> {
  const search = new URLSearchParams({ 'list-type': '2', 'encoding-type': 'url', ...query });
  if (token !== null) search.set('continuation-token', token);
  return documentOf(await checked(await requestAny(`/s3/${volume}?${search}`)));
}

async function documentOf(response: Response): Promise<Document> {
  const found = new DOMParser().parseFromString(await response.text(), 'application/xml');
  if (found.documentElement.nodeName === 'Error') throw errorOf(response.status, found);
  return found;
}

async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw errorOf(response.status, new DOMParser().parseFromString(await response.text(), 'application/xml'));
}

function errorOf(status: number, document: Document): ApiError {
  const message = document.getElementsByTagName('Message')[0]?.textContent;
  return new ApiError(status, message ?? `The server responded with status ${status}.`);
}

/** Sends a body and returns the ETag; again a few times while the server can't be reached. */
async function send(path: string, body: Blob, onProgress: (bytes: number) => void): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await sendOnce(path, body, onProgress);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 0 || attempt === ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS * attempt));
    }
  }
}

/** `fetch` does not say how much of a body it has sent. */
function sendOnce(path: string, body: Blob, onProgress: (bytes: number) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('PUT', BASE_URL + path);
    for (const [name, value] of Object.entries(authorization())) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded }) => onProgress(loaded);
    request.onerror = () => reject(unreachable());
    request.onload = () => {
      if (request.status === 200) resolve(request.getResponseHeader('etag') ?? '');
      else reject(errorOf(request.status, new DOMParser().parseFromString(request.responseText, 'application/xml')));
    };
    request.send(body);
  });
}

function escapeXml(text: string): string {
  return text.replace(/[&<>\x00-\x1f]/g, (c) => `&#${c.charCodeAt(0)};`);
}
