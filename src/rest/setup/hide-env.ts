const HIDDEN = '(hidden)';

/**
 * Returns an answer of JSON with the values of every `env` in it hidden, and the names kept: a variable may hold a secret as it is, and
 * auditors read no secrets. Logs, and streams of figures, have none.
 */
export function hideEnv(payload: unknown, contentType: string): unknown {
  if (!/[/+]json\b/.test(contentType)) return payload;
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload;
  return JSON.stringify(withoutValues(JSON.parse(payload.toString())));
}

function withoutValues(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutValues);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, name === 'env' ? hidden(member) : withoutValues(member)]),
  );
}

function hidden(env: unknown): unknown {
  if (typeof env !== 'object' || env === null) return HIDDEN;
  return Object.fromEntries(Object.keys(env).map((name) => [name, HIDDEN]));
}
