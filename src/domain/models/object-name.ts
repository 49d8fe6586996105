/** Names of models in S3: `s3://bucket/key`, with `?endpoint=…&region=…` where it is not Amazon's, or not its first region. */

/** An object of a bucket. */
export interface ObjectName {
  bucket: string;
  key: string;
  /** The URL of the service, without a slash at its end; null: Amazon's. */
  endpoint: string | null;
  region: string;
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const REGION = /^[A-Za-z0-9-]{1,40}$/;
const DEFAULT_REGION = 'us-east-1';

/** Returns what a name stands for, or what is wrong with it, to follow the name and a colon. */
export function parseObjectName(text: string): ObjectName | { fault: string } {
  const [place = '', query = '', ...more] = text.replace(/^s3:\/\//i, '').split('?');
  const slash = place.indexOf('/');
  const [bucket, key] = slash < 0 ? [place, ''] : [place.slice(0, slash), place.slice(slash + 1)];
  if (!BUCKET.test(bucket)) return { fault: 'the bucket must have 3 to 63 of a-z, 0-9, . and -' };
  if (key === '' || key.endsWith('/')) return { fault: 'must end with the name of a file' };
  if (key.split('/').some((part) => ['', '.', '..'].includes(part)) || /[\p{Cc}\\#]/u.test(key))
    return { fault: 'the key must be a path of names' };
  if (more.length > 0) return { fault: 'the key must have no ?' };
  const given = new URLSearchParams(query);
  const unknown = [...given.keys()].find((name) => name !== 'endpoint' && name !== 'region');
  if (unknown !== undefined) return { fault: 'only endpoint and region may follow the ?' };
  const region = given.get('region') ?? DEFAULT_REGION;
  if (!REGION.test(region)) return { fault: 'the region must have 1 to 40 letters, digits and -' };
  const endpoint = given.get('endpoint')?.replace(/\/$/, '') ?? null;
  if (endpoint !== null && !isEndpoint(endpoint))
    return { fault: 'the endpoint must be a URL such as https://s3.example.com' };
  return { bucket, key, endpoint, region };
}

/** Returns the one name of an object. */
export function textOf({ bucket, key, endpoint, region }: ObjectName): string {
  const more = [
    ...(endpoint === null ? [] : [`endpoint=${endpoint}`]),
    ...(region === DEFAULT_REGION ? [] : [`region=${region}`]),
  ];
  return `s3://${bucket}/${key}${more.length === 0 ? '' : `?${more.join('&')}`}`;
}

/** Plain characters alone: the name of a model contains it as it is. */
function isEndpoint(text: string): boolean {
  return /^https?:\/\/[\w.:[\]-]+(?:\/[\w.~/-]*)?$/i.test(text) && URL.canParse(text);
}
