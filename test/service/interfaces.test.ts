import { expect, test } from 'vitest';
import { chooseInterface, getCredentialInterfaces, getTaskInterfaces } from '../../src/service/interfaces.ts';
import { domainRenew } from '../../src/service/tasks/domain.ts';
import { redirectUpdate } from '../../src/service/tasks/redirect.ts';

const PASSWORD = getCredentialInterfaces('password', true);
const TWO_FACTORS = getCredentialInterfaces('two_factor', true);
const NOTHING = getCredentialInterfaces('two_factor', false);

test('a task goes over JSON where it can, and over XML where that is asked for or is all there is', () => {
  expect(chooseInterface(redirectUpdate, PASSWORD)).toEqual({ interface: 'json' });
  expect(chooseInterface(redirectUpdate, PASSWORD, 'xml')).toEqual({ interface: 'xml' });
  expect(chooseInterface(redirectUpdate, TWO_FACTORS)).toEqual({ interface: 'xml' });
  expect(chooseInterface(domainRenew, getCredentialInterfaces('trusted_application', false))).toEqual({
    interface: 'json',
  });
});

test('what an interface does not have is refused, with what to do instead', () => {
  expect(chooseInterface(domainRenew, TWO_FACTORS)).toEqual({
    unsupported: { code: 'json_takes_no_two_factor' },
  });
  expect(chooseInterface(redirectUpdate, NOTHING)).toEqual({ unsupported: { code: 'xml_address_missing' } });
  expect(chooseInterface(domainRenew, PASSWORD, 'xml')).toEqual({
    unsupported: { code: 'other_interface_needed' },
  });
});

test('a task is carried by those interfaces that document it and that the credential reaches', () => {
  expect(getTaskInterfaces(redirectUpdate, PASSWORD)).toEqual({ json: true, xml: true });
  expect(getTaskInterfaces(redirectUpdate, TWO_FACTORS)).toEqual({ json: false, xml: true });
  expect(getTaskInterfaces(domainRenew, PASSWORD)).toEqual({ json: true, xml: false });
  expect(getTaskInterfaces(domainRenew, NOTHING)).toEqual({ json: false, xml: false });
});
