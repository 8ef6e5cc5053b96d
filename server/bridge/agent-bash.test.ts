/** Commands of {@link Agent}, on the real Pi: stopping one, and all that Pi's own bash honours. */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Step } from '../demo/provider.ts';
import { call, inTurn, longTime, processes, realPi } from './real-pi.ts';

const ANSWER = [{ text: 'went on' }];
const bash = (command: string) => call('bash', { command });

test.concurrent('stopping one of two commands lets the other end by itself', async () => {
	const [long, short] = [longTime(), 'echo other; sleep 0.5; echo done'];
	const both: Step[] = [...bash(`echo begun; sleep ${long}`), ...bash(short)];
	await using pi = await realPi(inTurn(both, ANSWER));
	const running = pi.run('Go.');
	const first = await pi.until('tool_start');
	await pi.until('tool_update', ({ text }) => text.includes('begun'));
	await pi.until('tool_update', ({ text }) => text.includes('other'));

	await pi.agent.abortBash(first.toolCallId);

	await running;
	expect(processes(long)).toEqual([]);
	expect(pi.seen('tool_end')).toMatchObject([
		{ toolCallId: first.toolCallId, isError: true, outcome: 'stopped', text: 'begun\n' },
		{ isError: false, outcome: 'done', exitCode: 0, text: 'other\ndone\n' },
	]);
	const results = pi.provider.requests[1]!.messages.filter(({ role }) => role === 'tool');
	expect(results.map(({ text }) => text)).toEqual(['begun\n\n\nCommand aborted', 'other\ndone\n']);
	expect(pi.seen('message_end').at(-1)).toMatchObject({ text: 'went on' });
	expect(pi.seen('agent_settled')).toMatchObject([{ aborted: false }]);
});

test.concurrent('without an id all commands are stopped', async () => {
	const [one, two] = [longTime(), longTime()];
	await using pi = await realPi(
		inTurn([...bash(`echo a; sleep ${one}`), ...bash(`echo b; sleep ${two}`)], ANSWER),
	);
	const running = pi.run('Go.');
	await pi.until('tool_update', ({ text }) => text.includes('a'));
	await pi.until('tool_update', ({ text }) => text.includes('b'));

	await pi.agent.abortBash();

	await running;
	expect(pi.seen('tool_end').map(({ outcome }) => outcome)).toEqual(['stopped', 'stopped']);
	expect([...processes(one), ...processes(two)]).toEqual([]);
});

test.concurrent.for(['abortBash', 'abort'] as const)(
	'%s ends children, grandchildren and those that left the process group',
	async (method) => {
		const long = longTime();
		const command = `bash -c 'sleep ${long} & sleep ${long}' & setsid sleep ${long} & setsid bash -c 'while true; do echo ${long}; sleep 0.05; done' & echo begun; wait`;
		await using pi = await realPi(inTurn(bash(command), ANSWER));
		const running = pi.run('Go.');
		await pi.until('tool_update', () => processes('sleep', long).length === 3);

		const asked = performance.now();
		await pi.agent[method]();
		await pi.until('tool_end');

		expect(performance.now() - asked).toBeLessThan(1_000);
		expect(processes(long)).toEqual([]);
		await running;
		expect(pi.seen('tool_end')).toMatchObject([{ outcome: 'stopped' }]);
	},
);

test.concurrent(
	'the command of another Pi is left alone, even if its call has the same id',
	async () => {
		// Every scripted provider counts its calls from 1, as some real ones do.
		const [here, there] = [longTime(), longTime()];
		await using one = await realPi(inTurn(bash(`echo begun; sleep ${here}`), ANSWER));
		await using two = await realPi(inTurn(bash(`echo begun; sleep ${there}`), ANSWER));
		const running = [one.run('Go.'), two.run('Go.')];
		const first = await one.until('tool_update', ({ text }) => text.includes('begun'));
		const second = await two.until('tool_update', ({ text }) => text.includes('begun'));
		expect(first.toolCallId).toBe(second.toolCallId);

		await one.agent.abortBash(first.toolCallId);
		await running[0];

		expect(processes('sleep', here)).toHaveLength(0);
		expect(processes('sleep', there)).toHaveLength(1);
		await two.agent.abort();
		await running[1];
	},
);

test.concurrent('a command is stopped that waits for leave to begin', async () => {
	await using pi = await realPi(
		inTurn(bash('echo ran > ran'), ANSWER),
		{},
		{
			extension: `export default (pi) => pi.on('tool_call', async (event, ctx) => {
				if (!(await ctx.ui.confirm('Run it?', event.input.command))) return { block: true };
			});`,
		},
	);
	const running = pi.run('Go.');
	const { toolCallId } = await pi.until('tool_start');
	const { dialog } = await pi.until('dialog_open');

	await pi.agent.abortBash(toolCallId);
	pi.agent.answer(dialog.id, { confirmed: true });

	await running;
	expect(pi.seen('tool_end')).toMatchObject([{ isError: true, outcome: 'stopped', text: '' }]);
	expect(readdirSync(pi.cwd)).toEqual([]);
});

test.concurrent('a command started from codemode can be stopped', async () => {
	const long = longTime();
	const script = `const results = await Promise.allSettled([
		tools.bash({ command: 'echo begun; sleep ${long}' }), tools.bash({ command: 'echo other' }),
	]);
	return results.map((result) => result.status);`;
	await using pi = await realPi(
		inTurn(call('codemode', { code: script }), ANSWER),
		{},
		{ flags: ['--tools', '+codemode'] },
	);
	const running = pi.run('Go.');
	const parent = await pi.until('tool_start');
	const child = await pi.until(
		'tool_start',
		({ parentToolCallId }) => parentToolCallId !== undefined,
	);
	await pi.until('tool_update', ({ text }) => text.includes('begun'));

	await pi.agent.abortBash(child.toolCallId);

	await running;
	expect(parent).toMatchObject({ toolName: 'codemode' });
	expect(child).toMatchObject({ toolName: 'bash', parentToolCallId: parent.toolCallId });
	expect(processes(long)).toEqual([]);
	const ends = Object.fromEntries(pi.seen('tool_end').map((end) => [end.toolCallId, end.outcome]));
	expect(ends[child.toolCallId]).toBe('stopped');
	expect(ends[parent.toolCallId]).toBe('done');
	expect(pi.provider.requests[1]!.messages.at(-1)!.text).toContain('["rejected","fulfilled"]');
});

test.concurrent('a command of the person runs, is told as theirs, and can be stopped', async () => {
	const long = longTime();
	await using pi = await realPi(inTurn(ANSWER));

	await pi.agent.bash('echo quick; exit 3', 'c1');
	const running = pi.agent.bash(`echo begun; sleep ${long}`, 'c2');
	await pi.until(
		'tool_update',
		({ toolCallId, text }) => toolCallId === 'c2' && text === 'begun\n',
	);
	await pi.agent.abortBash('c2');
	await running;

	expect(pi.seen('tool_start')).toMatchObject([
		{ toolCallId: 'c1', toolName: 'bash', by: 'user', args: { command: 'echo quick; exit 3' } },
		{ toolCallId: 'c2', by: 'user' },
	]);
	expect(pi.seen('tool_end')).toMatchObject([
		{ toolCallId: 'c1', outcome: 'failed', exitCode: 3, isError: true, text: 'quick\n' },
		{ toolCallId: 'c2', outcome: 'stopped', isError: true, text: 'begun\n' },
	]);
	expect(processes(long)).toEqual([]);
});

test.concurrent("shell, prefix, environment and folder are those of Pi's own bash", async () => {
	await using pi = await realPi(
		inTurn(bash('echo "$0 $PREFIXED $PWD $PI_SESSION_ID $PI_PROVIDER $PI_MODEL"'), ANSWER),
		{ shellPath: '/bin/sh', shellCommandPrefix: 'PREFIXED=yes' },
	);
	// Nothing runs: a no-op, now and later.
	await pi.agent.abortBash();

	await pi.run('Go.');

	const { id } = await pi.agent.state();
	expect(pi.seen('tool_end')).toMatchObject([
		{ outcome: 'done', text: `/bin/sh yes ${pi.cwd} ${id} scripted script\n` },
	]);

	await pi.agent.abortBash();
	await pi.agent.abortBash(pi.seen('tool_start')[0]!.toolCallId);
	await pi.run('Again.');
	expect(pi.seen('agent_settled')).toHaveLength(2);
});

test.concurrent.for([
	['when it is loaded', (register: string) => register],
	[
		'when the session starts',
		(register: string) => `pi.on('session_start', () => { ${register} });`,
	],
] as const)('a bash tool that another extension brings %s is left to it', async ([, when]) => {
	const register = `pi.registerTool({
		name: 'bash', label: 'bash', description: 'another', parameters: { type: 'object', properties: {} },
		execute: async (id, params, signal) => {
			await new Promise((resolve) => setTimeout(resolve, 300));
			return { content: [{ type: 'text', text: 'by another' }], details: {} };
		},
	});`;
	await using pi = await realPi(
		inTurn(bash('echo ours'), ANSWER),
		{},
		{
			extension: `export default (pi) => { ${when(register)} }`,
		},
	);
	expect((await pi.agent.state()).stopsCommands).toBe(false);
	await pi.agent.abortBash();

	const running = pi.run('Go.');
	await pi.until('tool_start');
	await expect(pi.agent.abortBash()).rejects.toThrow('Another Pi extension brings its own bash');
	await running;

	expect(pi.seen('tool_end')).toMatchObject([{ text: 'by another', outcome: 'done' }]);
});

test.concurrent('bash is not switched on where the settings leave it out', async () => {
	await using pi = await realPi(inTurn(bash('echo x'), ANSWER), {}, { flags: ['--tools', 'read'] });

	await pi.run('Go.');

	expect(pi.seen('tool_end')).toMatchObject([{ isError: true, outcome: 'failed' }]);
	expect(pi.seen('tool_end')[0]!.text).toContain('not found');
});
