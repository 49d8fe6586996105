import { BASE_URL } from '../../api/client.ts';
import type { Endpoint } from './endpoint-values.ts';

interface Sample {
  language: string;
  code: string;
}

/** A job, as curl, the JavaScript client and the Python client send it. */
export function jobSamples(endpoint: Endpoint, input: unknown): Sample[] {
  const json = JSON.stringify(input, null, 2);
  const indented = json.replaceAll('\n', '\n  ');
  return [
    {
      language: 'curl',
      code: `curl -X POST ${BASE_URL}/v2/${endpoint.id}/runsync \\
  -H "Authorization: Bearer $PODYARD_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify({ input }).replaceAll("'", "'\\''")}'`,
    },
    {
      language: 'JavaScript',
      code: `import runpodSdk from 'runpod-sdk';

const client = runpodSdk(process.env.PODYARD_KEY, { baseUrl: '${BASE_URL}/v2' });
const endpoint = client.endpoint('${endpoint.id}');
const job = await endpoint.runSync({
  input: ${indented},
});
console.log(job.output);`,
    },
    {
      language: 'Python',
      code: `import os
os.environ["RUNPOD_ENDPOINT_BASE_URL"] = "${BASE_URL}/v2"
import runpod

runpod.api_key = os.environ["PODYARD_KEY"]
endpoint = runpod.Endpoint("${endpoint.id}")
print(endpoint.run_sync({"input": ${pythonOf(input)}}))`,
    },
  ];
}

/** A request to a load-balancing endpoint. */
export function httpSamples(endpoint: Endpoint, call: { method: string; path: string; body: string }): Sample[] {
  const base = endpoint.requestUrls && 'base' in endpoint.requestUrls ? endpoint.requestUrls.base : '';
  const url = `${base || `${BASE_URL}/v2/${endpoint.id}/lb`}${call.path}`;
  const hasBody = call.body !== '';
  const curlBody = hasBody
    ? ` \\\n  -H 'Content-Type: application/json' \\\n  -d '${call.body.replaceAll("'", "'\\''")}'`
    : '';
  const jsBody = hasBody ? `\n  body: JSON.stringify(${call.body}),` : '';
  return [
    {
      language: 'curl',
      code: `curl -X ${call.method} ${url} \\\n  -H "Authorization: Bearer $PODYARD_KEY"${curlBody}`,
    },
    {
      language: 'JavaScript',
      code: `const response = await fetch('${url}', {
  method: '${call.method}',
  headers: { authorization: \`Bearer \${process.env.PODYARD_KEY}\`${hasBody ? ", 'content-type': 'application/json'" : ''} },${jsBody}
});
console.log(response.status, await response.text());`,
    },
    {
      language: 'Python',
      code: `import os, urllib.request

request = urllib.request.Request("${url}", method="${call.method}"${hasBody ? `, data=${JSON.stringify(call.body)}.encode()` : ''})
request.add_header("Authorization", "Bearer " + os.environ["PODYARD_KEY"])
print(urllib.request.urlopen(request).read().decode())`,
    },
  ];
}

function pythonOf(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(', ')}]`;
  if (typeof value === 'object') {
    return `{${Object.entries(value as object)
      .map(([key, item]) => `${JSON.stringify(key)}: ${pythonOf(item)}`)
      .join(', ')}}`;
  }
  return JSON.stringify(value);
}
