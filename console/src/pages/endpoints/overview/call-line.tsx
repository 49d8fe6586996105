import { Anchor, Paper, Text } from '@mantine/core';
import { Link } from 'react-router';
import { BASE_URL } from '../../../api/client.ts';
import { CopyIcon } from '../../../ui/copyable.tsx';
import { FIRST_CALL } from '../requests/http-call.ts';
import { httpSamples, jobSamples } from '../requests/samples.ts';
import type { Endpoint } from '../settings/endpoint-values.ts';

/** How the endpoint is called, to copy. */
export function CallLine({ endpoint }: { endpoint: Endpoint }) {
  const { id, type } = endpoint;
  const samples =
    type === 'LOAD_BALANCER'
      ? httpSamples(BASE_URL, endpoint, FIRST_CALL)
      : jobSamples(BASE_URL, id, { echo: 'hello' });
  const { code } = samples[0]!;
  return (
    <Paper withBorder className="call-line" component="section" aria-label="Call this endpoint">
      <code className="code-line" title={code}>
        {code.replaceAll(/ \\\n\s*/g, ' ')}
      </code>
      <CopyIcon text={code} what="call" />
      <Text size="sm" component="div" className="nowrap">
        <Anchor component={Link} to={`/endpoints/${id}/request`} size="sm" underline="always">
          Send a request
        </Anchor>
      </Text>
    </Paper>
  );
}
