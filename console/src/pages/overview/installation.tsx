import { List, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { installationQuery } from '../../api/queries.ts';
import { installationFacts, noticeText } from './installation-facts.ts';

/** What this server runs on, and what users should know about it. Empty for a key that may not read it. */
export function Installation() {
  const { data } = useQuery(installationQuery);
  if (!data) return null;
  return (
    <Stack gap="sm" component="section" aria-labelledby="installation">
      <Title order={2} size="h4" id="installation">
        Installation
      </Title>
      <Paper withBorder p="md">
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="md" component="dl" m={0}>
          {installationFacts(data).map(({ label, value }) => (
            <div key={label}>
              <Text component="dt" size="xs" c="dimmed">
                {label}
              </Text>
              <Text component="dd" size="sm" m={0}>
                {value}
              </Text>
            </div>
          ))}
        </SimpleGrid>
        {data.notices.length > 0 && (
          <List size="sm" c="dimmed" mt="md" aria-label="Notices">
            {data.notices.map((notice) => (
              <List.Item key={notice}>{noticeText(notice)}</List.Item>
            ))}
          </List>
        )}
      </Paper>
    </Stack>
  );
}
