import { describe, expect, test } from 'vitest';
import type { InputIssue } from '../../../src/orders/input-issue.ts';
import type { Refusal } from '../../../src/orders/refusal.ts';
import type { ItemSummary } from '../../../src/orders/summary.ts';
import { issueText } from '../../../src/slack/orders/input-issue.view.ts';
import { refusalText } from '../../../src/slack/orders/refusal.view.ts';
import { retryReasonText, summaryText } from '../../../src/slack/orders/summary.view.ts';

describe('a refusal says why and what to do', () => {
  test.each<[Refusal, RegExp]>([
    [{ code: 'draft_forgotten' }, /^That was not confirmed in time and has been forgotten\. Ask again/],
    [{ code: 'not_the_requester', wanted: 'cancel' }, /^Only the person who asked can cancel\. An approver/],
    [
      { code: 'not_an_approver', wanted: 'stop' },
      /^Only the person who asked, or an approver, can stop this\./,
    ],
    [{ code: 'open_already', orderId: 'abc' }, /open already: `abc`\. See it with `\/domain order abc`\.$/],
    [
      { code: 'wrong_state', wanted: 'approved', state: 'DENIED' },
      /^It cannot be approved: the order is denied\. Ask again if it is still wanted\.$/,
    ],
    [
      { code: 'wrong_state', wanted: 'claimed', state: 'FAILED' },
      /^It cannot be carried out: the order is failed\. Its thread says why; Retry asks again\.$/,
    ],
    [
      { code: 'membership_unknown', userId: 'U0BOB' },
      /whether <@U0BOB> is still here\. Try again in a minute/,
    ],
    [{ code: 'groups_unreadable', groupIds: ['S1', 'S2'] }, /the group <!subteam\^S1> and <!subteam\^S2> in/],
    [
      { code: 'earlier_order', finding: { orderId: 'abc', name: 'a.rest', found: 'open' } },
      /^What became of order `abc`.* is not known yet\. Nothing was sent\. That order has to be settled first\.$/,
    ],
    [{ code: 'not_failed', state: 'UNKNOWN' }, /this one is sent, with an unknown outcome\. Ask for it anew/],
    [
      { code: 'retry_over', days: 7 },
      /more than 7 days ago, so it can no longer be retried\. Ask for it anew/,
    ],
    [{ code: 'undo_over', hours: 48 }, /more than 48 hours ago.*Type `\/domain nameservers` with the ones/],
    [{ code: 'undo_unknown' }, /not known, so I cannot set them back\. `\/domain nameservers` sets/],
    [{ code: 'nothing_to_undo' }, /it changed no nameservers\./],
    [
      { code: 'retry_unanswered' },
      /^A request of this left and its answer never came, so it may have been carried out and is not asked for again\. Look at the domain service; if it was not, ask for it anew with `\/domain`\.$/,
    ],
    [{ code: 'retry_done_since' }, /^It turned out since that this was carried out, so it is not asked for/],
    [{ code: 'retry_account_gone' }, /no longer linked\. Link it with `\/domain link` and ask again\.$/],
    [{ code: 'secret_input_of', ownerId: 'U0ALICE' }, /Only the person who asked first, <@U0ALICE>, can ask/],
    [
      { code: 'secret_answer_of', ownerId: 'U0ALICE' },
      /a secret for <@U0ALICE> alone, so only they can ask for it/,
    ],
    [
      { code: 'nothing_waits', state: 'SUCCEEDED' },
      /^The order is done; nothing waits to be sent any more\./,
    ],
    [{ code: 'reveal_key_missing' }, /^One of my keys is missing here, .* is still kept\. Try again/],
  ])('%j', (refusal, words) => {
    expect(refusalText(refusal)).toMatch(words);
  });
});

describe('what is wrong with an input', () => {
  test.each<[InputIssue, RegExp]>([
    [{ field: 'names', code: 'too_many_names', max: 50 }, /^Give at most 50 names in one order, so that its/],
    [{ field: 'address', code: 'too_many_lines', max: 10 }, /^Give at most 10 lines\.$/],
    [{ field: 'title', code: 'text_too_long', max: 255 }, /^Use at most 255 characters\.$/],
    [
      { field: 'period', code: 'zone_issue', issue: { code: 'period_out_of_range', min: 1, max: 10 } },
      /^The period must be a whole number of years from 1 to 10\. Change it\.$/,
    ],
    [
      { field: 'mode', code: 'interfaces_conflict', overJson: 'mode_HTTP', overXml: 'title' },
      /^The mode HTTP goes over the JSON interface alone, and a title over the XML interface alone\. Leave/,
    ],
    [
      { field: 'title', code: 'interface_out_of_reach', needs: 'xml', because: 'title' },
      /^A title goes over the service’s XML interface alone.*set SERVICE_XML_URL\.$/,
    ],
  ])('%j', (issue, words) => {
    expect(issueText(issue)).toMatch(words);
  });
});

describe('what the bot says of an item', () => {
  test.each<[ItemSummary, RegExp]>([
    [{ code: 'owner_left' }, /^The person whose account it uses is no longer a full member/],
    [{ code: 'database_restored' }, /put back from a backup.*It is not sent by itself\.$/],
    [{ code: 'suspended' }, /suspended.*sent nothing.*taken it for lost.*settle it\.$/],
    [{ code: 'session_ended' }, /session had ended, so it was not carried out\. It was not sent again/],
    [{ code: 'settled', outcome: 'FAILED' }, /^Settled as not done\.$/],
    [
      { code: 'rules_changed', issues: [{ field: 'names', code: 'no_names' }] },
      /^The rules have changed since it was asked for, so nothing was sent\. Give at least one name\.$/,
    ],
    [
      { code: 'sending_lost', since: { code: 'earlier_unanswered', since: { code: 'refused' } } },
      /^This was sent, and the bot’s database has lost that it was\. An earlier request may have reached the service and got no answer\. After it: The service refused\.$/,
    ],
    [
      { code: 'earlier_order', orderId: 'abc', found: 'done' },
      /^Order `abc`, which this asks for again, turned out to have been carried out\. Nothing was sent\.$/,
    ],
  ])('%j', (summary, words) => {
    expect(summaryText(summary)).toMatch(words);
  });

  test('why a request goes out again', () => {
    expect(retryReasonText({ code: 'busy' })).toBe('The service is busy.');
  });
});
