import type { Endpoint } from './endpoint-values.ts';
import { bodyOf, type HttpCall } from './http-call.ts';

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
  const url = `${endpointUrl(baseUrl, endpoint)}${call.path}`;
  const body = bodyOf(call);
  return [
    { language: 'curl', code: curlCall(url, call.method, body) },
    { language: 'JavaScript', code: fetchCall(url, call.method, body) },
    { language: 'Python', code: urllibCall(url, call.method, body) },
  ];
}

/** The endpoint's own host name if it has one, else its path. */
function endpointUrl(baseUrl: string, { id, requestUrls }: Endpoint): string {
  const own = requestUrls && 'base' in requestUrls ? requestUrls.base : '';
  return own || `${baseUrl}/v2/${id}/lb`;
}

function curlCall(url: string, method: string, body: string | undefined): string {
  const json = body === undefined ? '' : ` \\\n  -H 'Content-Type: application/json' \\\n  -d ${shellQuoted(body)}`;
  return `curl -X ${method} ${url} \\\n  -H "Authorization: Bearer $PODYARD_KEY"${json}`;
}

function fetchCall(url: string, method: string, body: string | undefined): string {
  const contentType = body === undefined ? '' : ", 'content-type': 'application/json'";
  const json = body === undefined ? '' : `\n  body: JSON.stringify(${body}),`;
  return `const response = await fetch('${url}', {
  method: '${method}',
  headers: { authorization: \`Bearer \${process.env.PODYARD_KEY}\`${contentType} },${json}
});
console.log(response.status, await response.text());`;
}

function urllibCall(url: string, method: string, body: string | undefined): string {
  const data = body === undefined ? '' : `, data=${JSON.stringify(body)}.encode()`;
  return `import os, urllib.request

request = urllib.request.Request("${url}", method="${method}"${data})
request.add_header("Authorization", "Bearer " + os.environ["PODYARD_KEY"])
print(urllib.request.urlopen(request).read().decode())`;
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
