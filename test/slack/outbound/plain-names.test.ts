import { expect, test } from 'vitest';
import { replaceMentions } from '../../../src/slack/outbound/plain-names.ts';
import { SlackApiError } from '../../../src/slack/outbound/web.ts';

const directory = {
  findName: async (userId: string) => {
    if (userId === 'U0GONE') throw new SlackApiError('unreachable', 'users.info', {});
    return userId === 'U0ALICE' ? 'Alice Moreau' : undefined;
  },
};

test.each([
  ['<@U0ALICE> asked, and <@U0ALICE|alice> too.', '@Alice Moreau asked, and @Alice Moreau too.'],
  ['<@U0GONE> and <@U0NAMELESS> are here.', '@U0GONE and @U0NAMELESS are here.'],
  ['The group <!subteam^S0APPROVERS> or <!subteam^S0LEGAL|@legal>.', 'The group S0APPROVERS or S0LEGAL.'],
  ['What is < 2 & <b> stays.', 'What is < 2 & <b> stays.'],
])('names or IDs replace the mentions in “%s”', async (text, plain) => {
  expect(await replaceMentions(directory, text)).toBe(plain);
});
