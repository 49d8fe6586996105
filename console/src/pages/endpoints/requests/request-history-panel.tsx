import { Anchor, Button, Group, Paper, Stack, Text, Title, UnstyledButton } from '@mantine/core';
import { useCallback, useState } from 'react';
import { Link } from 'react-router';
import { formatDuration } from '../../../ui/text/format.ts';
import { enumLabel } from '../../../ui/text/labels.ts';
import { RelativeTime } from '../../../ui/text/relative-time-view.tsx';
import { forget, readHistory, remember, type SentRequest } from './request-history.ts';

/** The last requests to an endpoint, kept in this browser. */
export function useHistoryOf(endpointId: string) {
  const [requests, setRequests] = useState(() => readHistory(localStorage, endpointId));
  const add = useCallback(
    (request: SentRequest) => setRequests(remember(localStorage, endpointId, request)),
    [endpointId],
  );
  const clear = useCallback(() => {
    forget(localStorage, endpointId);
    setRequests([]);
  }, [endpointId]);
  return { requests, add, clear };
}

interface RequestHistoryProps {
  endpointId: string;
  requests: readonly SentRequest[];
  onUse: (request: SentRequest) => void;
  onClear: () => void;
}

/** Each request can be put into the form again; a job can be opened. */
export function RequestHistory({ endpointId, requests, onUse, onClear }: RequestHistoryProps) {
  if (requests.length === 0) return null;
  return (
    <Paper withBorder p="md" component="section" aria-label="Recent requests">
      <Group justify="space-between" mb={6}>
        <Title order={2} size="h5">
          Recent requests
        </Title>
        <Button variant="subtle" color="gray" size="compact-xs" onClick={onClear}>
          Clear
        </Button>
      </Group>
      <Stack gap={2}>
        {requests.map((request) => (
          <Group key={request.at} gap="xs" wrap="nowrap" className="request-row">
            <UnstyledButton
              onClick={() => onUse(request)}
              className="code-line"
              title="Put it into the form"
              aria-label={`Use again: ${summaryOf(request)}`}
            >
              {summaryOf(request)}
            </UnstyledButton>
            <Text size="xs" c="dimmed" className="figure" component="div" style={{ whiteSpace: 'nowrap' }}>
              {request.kind === 'job' ? (
                <Anchor
                  size="xs"
                  underline="always"
                  component={Link}
                  to={`/endpoints/${endpointId}/jobs?job=${request.jobId}`}
                >
                  {enumLabel(request.outcome)}
                </Anchor>
              ) : (
                request.outcome
              )}
              {request.ms !== null && ` · ${formatDuration(request.ms)}`} · <RelativeTime at={request.at} />
            </Text>
          </Group>
        ))}
      </Stack>
      <Text size="xs" c="dimmed" mt="xs">
        The last twenty, kept in this browser, without keys.
      </Text>
    </Paper>
  );
}

function summaryOf(request: SentRequest): string {
  if (request.kind === 'http') return `${request.call.method} ${request.call.path}`;
  return request.input.replaceAll(/\s+/g, ' ').slice(0, 200);
}
