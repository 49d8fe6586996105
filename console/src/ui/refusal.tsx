import { Alert } from '@mantine/core';

/** What the server refused and no field can show. */
export function Refusal({ lines }: { lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <Alert color="red" role="alert" title="The server refused this">
      {lines.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </Alert>
  );
}
