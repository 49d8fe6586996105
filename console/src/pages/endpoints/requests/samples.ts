import type { Endpoint } from '../settings/endpoint-values.ts';
import { bodyOf, type HttpCall, headersOf } from './http-call.ts';

/** A call as code in one language. */
export interface Sample {
  language: string;
  code: string;
}

/** Returns a job's submission with curl, the JavaScript client and the Python client, and a call of a language model. */
export function jobSamples(baseUrl: string, endpointId: string, input: unknown): Sample[] {
  return [
    {
      language: 'curl',
      code: `curl -X POST ${baseUrl}/v2/${endpointId}/runsync \\
  -H "Authorization: Bearer $PODYARD_KEY" \\
  -H 'Content-Type: application/json' \\
  -d ${shellQuoted(JSON.stringify({ input }))}`,
    },
    {
      language: 'JavaScript',
      code: `import runpodSdk from 'runpod-sdk';

const client = runpodSdk(process.env.PODYARD_KEY, { baseUrl: '${baseUrl}/v2' });
const endpoint = client.endpoint('${endpointId}');
const job = await endpoint.runSync({
  input: ${JSON.stringify(input, null, 2).replaceAll('\n', '\n  ')},
});
console.log(job.output);`,
    },
    {
      language: 'Python',
      code: `import os
os.environ["RUNPOD_ENDPOINT_BASE_URL"] = "${baseUrl}/v2"
import runpod

runpod.api_key = os.environ["PODYARD_KEY"]
endpoint = runpod.Endpoint("${endpointId}")
print(endpoint.run_sync({"input": ${pythonLiteral(input)}}))`,
    },
    {
      language: 'OpenAI',
      code: `// For images that serve OpenAI-style routes
import OpenAI from 'openai';

const openai = new OpenAI({ baseURL: '${baseUrl}/openai/v1', apiKey: process.env.PODYARD_KEY });
const answer = await openai.chat.completions.create({
  model: '${endpointId}',
  messages: [{ role: 'user', content: 'Hello!' }],
});
console.log(answer.choices[0].message.content);`,
    },
  ];
}

/** Returns a request to a load-balancing endpoint with curl, fetch and urllib. */
export function httpSamples(baseUrl: string, endpoint: Endpoint, call: HttpCall): Sample[] {
  const sent: Sent = {
    url: `${endpointUrl(baseUrl, endpoint)}${call.path}`,
    method: call.method,
    headers: Object.entries(headersOf(call)),
    body: bodyOf(call),
  };
  return [
    { language: 'curl', code: curlCall(sent) },
    { language: 'JavaScript', code: fetchCall(sent) },
    { language: 'Python', code: urllibCall(sent) },
  ];
}

interface Sent {
  url: string;
  method: string;
  headers: [name: string, value: string][];
  body: string | undefined;
}

/** The endpoint's own host name if it has one, else its path. */
function endpointUrl(baseUrl: string, { id, requestUrls }: Endpoint): string {
  const own = requestUrls && 'base' in requestUrls ? requestUrls.base : '';
  return own || `${baseUrl}/v2/${id}/lb`;
}

function curlCall({ url, method, headers, body }: Sent): string {
  const lines = [
    `curl ${method === 'HEAD' ? '-I' : `-X ${method}`} ${isPlain(url) ? url : shellQuoted(url)}`,
    '-H "Authorization: Bearer $PODYARD_KEY"',
    ...headers.map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${shellQuoted(body)}`]),
  ];
  return lines.join(' \\\n  ');
}

function fetchCall({ url, method, headers, body }: Sent): string {
  const more = headers.map(([name, value]) => `, ${JSON.stringify(name)}: ${JSON.stringify(value)}`).join('');
  const data = body === undefined ? '' : `\n  body: ${JSON.stringify(body)},`;
  return `const response = await fetch(${JSON.stringify(url)}, {
  method: '${method}',
  headers: { authorization: \`Bearer \${process.env.PODYARD_KEY}\`${more} },${data}
});
console.log(response.status, await response.text());`;
}

function urllibCall({ url, method, headers, body }: Sent): string {
  const data = body === undefined ? '' : `, data=${JSON.stringify(body)}.encode()`;
  const more = headers.map(
    ([name, value]) => `\nrequest.add_header(${JSON.stringify(name)}, ${JSON.stringify(value)})`,
  );
  return `import os, urllib.request

request = urllib.request.Request(${JSON.stringify(url)}, method="${method}"${data})
request.add_header("Authorization", "Bearer " + os.environ["PODYARD_KEY"])${more.join('')}
print(urllib.request.urlopen(request).read().decode())`;
}

/** True if a shell leaves the text as it is. */
function isPlain(text: string): boolean {
  return /^[\w./:%@+,=-]+$/.test(text);
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function pythonLiteral(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`;
  if (typeof value === 'object') {
    const entries = Object.entries(value as object).map(
      ([key, item]) => `${JSON.stringify(key)}: ${pythonLiteral(item)}`,
    );
    return `{${entries.join(', ')}}`;
  }
  return JSON.stringify(value);
}
