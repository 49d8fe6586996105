import {
  ActionIcon,
  Group,
  Menu,
  Text,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { IconBook, IconLogout, IconMoon, IconSun, IconUserCircle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { BASE_URL } from '../api/client.ts';
import { accountQuery } from '../api/queries.ts';
import { signOut } from '../api/session.ts';
import { Name } from '../ui/text/record-name.tsx';
import { visibleText } from '../ui/text/visible-text.ts';

/** The color scheme switch, and the menu of the signed-in account. */
export function AccountMenu() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const account = useQuery(accountQuery);
  const other = scheme === 'dark' ? 'light' : 'dark';
  return (
    <Group gap="xs" wrap="nowrap">
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={`Switch to ${other} mode`}
        onClick={() => setColorScheme(other)}
      >
        {scheme === 'dark' ? <IconSun size={18} /> : <IconMoon size={18} />}
      </ActionIcon>
      <Menu position="bottom-end" width={200}>
        <Menu.Target>
          <UnstyledButton aria-label={visibleText(`Account ${account.data?.name ?? ''}`)}>
            <Group gap={6} wrap="nowrap">
              <IconUserCircle size={22} stroke={1.6} aria-hidden />
              <Text size="sm" visibleFrom="sm" truncate maw={180}>
                <Name>{account.data?.name ?? ''}</Name>
              </Text>
            </Group>
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item component="a" href={`${BASE_URL}/docs/`} target="_blank" leftSection={<IconBook size={16} />}>
            Documentation
          </Menu.Item>
          <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => signOut()}>
            Sign out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}
