import { expect, test } from 'vitest';
import { chooseInterface, getCredentialInterfaces, getTaskInterfaces } from '../../src/service/interfaces.ts';
import { domainRenew } from '../../src/service/tasks/domain.ts';
import { redirectUpdate } from '../../src/service/tasks/redirect.ts';

const PASSWORD = getCredentialInterfaces('password', true);
const TWO_FACTOR = getCredentialInterfaces('two_factor', true);
const NEITHER = getCredentialInterfaces('two_factor', false);

test('a task uses JSON if it can, and XML if requested or if JSON isn’t available', () => {
  expect(chooseInterface(redirectUpdate, PASSWORD)).toEqual({ interface: 'json' });
  expect(chooseInterface(redirectUpdate, PASSWORD, 'xml')).toEqual({ interface: 'xml' });
  expect(chooseInterface(redirectUpdate, TWO_FACTOR)).toEqual({ interface: 'xml' });
  expect(chooseInterface(domainRenew, getCredentialInterfaces('trusted_application', false))).toEqual({
    interface: 'json',
  });
});

test('an unsupported interface is refused with the reason', () => {
  expect(chooseInterface(domainRenew, TWO_FACTOR)).toEqual({
    unsupported: { code: 'json_takes_no_two_factor' },
  });
  expect(chooseInterface(redirectUpdate, NEITHER)).toEqual({ unsupported: { code: 'xml_address_missing' } });
  expect(chooseInterface(domainRenew, PASSWORD, 'xml')).toEqual({
    unsupported: { code: 'other_interface_needed' },
  });
});

test('a task can use the interfaces that document it and that its credential supports', () => {
  expect(getTaskInterfaces(redirectUpdate, PASSWORD)).toEqual({ json: true, xml: true });
  expect(getTaskInterfaces(redirectUpdate, TWO_FACTOR)).toEqual({ json: false, xml: true });
  expect(getTaskInterfaces(domainRenew, PASSWORD)).toEqual({ json: true, xml: false });
  expect(getTaskInterfaces(domainRenew, NEITHER)).toEqual({ json: false, xml: false });
});
