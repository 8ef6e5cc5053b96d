import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ownPi, parsePiCommand } from './pi-command.ts';

test.for([
	['pi', 'pi', []],
	['  ssh  host pi ', 'ssh', ['host', 'pi']],
	['ssh host "my pi" --flag', 'ssh', ['host', 'my pi', '--flag']],
	[
		`docker exec -i box sh -c 'exec pi "$@"'`,
		'docker',
		['exec', '-i', 'box', 'sh', '-c', 'exec pi "$@"'],
	],
	['/opt/my\\ pi/bin/pi', '/opt/my pi/bin/pi', []],
	['"a \\"quoted\\" word"', 'a "quoted" word', []],
	[`a''b"" ''`, 'ab', ['']],
] as const)('a command line is split as a shell would: %s', ([line, command, args]) => {
	expect(parsePiCommand(line)).toEqual({ command, args });
});

test('an empty command line, or one with an open quote, is an error that says so', () => {
	expect(() => parsePiCommand('  ')).toThrow('--pi needs a command');
	expect(() => parsePiCommand('ssh "host')).toThrow('A quote is left open in --pi ssh "host');
	expect(() => parsePiCommand(`ssh it's`)).toThrow('A quote is left open');
});

test('our own Pi is there', () => {
	const { command, args } = ownPi();
	expect(command).toBe(process.execPath);
	expect(existsSync(args[0]!)).toBe(true);
});
