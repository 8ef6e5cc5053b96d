import { startProvider } from './provider.ts';
import type { ModelRequest, Provider, Reply, Step } from './provider.ts';

/** A drill with a real fault: what the scripted provider answers when its name is sent. */
export interface Scene {
	name: string;
	/** What one will see, in half a sentence. */
	about: string;
	/** `turn` counts the finished tools of this scene, `attempt` the requests for this turn. */
	play: (turn: number, attempt: number, request: ModelRequest) => Reply;
}

const rateLimited: Reply = {
	status: 429,
	type: 'rate_limit_error',
	message: 'Number of request tokens has exceeded your per-minute rate limit',
};
const unavailable: Reply = {
	status: 503,
	type: 'service_unavailable',
	message: 'The service is temporarily unavailable',
};
const overloaded: Reply = { status: 529, type: 'overloaded_error', message: 'Overloaded' };

const bash = (command: string): Step => ({ toolCall: { name: 'bash', arguments: { command } } });

/** The scenes that the page offers, in the order of its buttons. */
export const SCENES: Scene[] = [
	{
		name: 'recover from a rate limit',
		about: 'refused twice, with a wait before each new attempt, then an answer',
		play: (_turn, attempt) =>
			attempt === 1
				? rateLimited
				: attempt === 2
					? unavailable
					: [
							{
								text: 'That went through on the third try. The provider had answered **429** and then **503**; Pi waited 2 and 4 seconds, and you could have cancelled or skipped either wait.',
							},
						],
	},
	{
		name: 'run out of retries',
		about: 'four refusals, a decision for you, and an answer when you try again',
		play: (_turn, attempt) =>
			attempt <= 4
				? overloaded
				: [
						{
							text: 'This time the provider had room. Your prompt was not sent a second time: the failed request was simply repeated.',
						},
					],
	},
	{
		name: 'connection lost in mid-answer',
		about: 'the answer breaks off after a few words and starts again',
		play: (_turn, attempt) =>
			attempt === 1
				? [{ text: 'The first attempt got this far and then' }, { drop: true }]
				: [
						{
							text: 'This is the whole answer, from its beginning. The words of the attempt that broke off are not part of it; they stay behind the thin line above.',
						},
					],
	},
	{
		name: 'a provider that hangs',
		about: 'no answer comes; stop the run when you have seen enough',
		play: () => [{ hang: true }],
	},
	{
		name: 'a long command',
		about: 'a command of one minute that you can stop while Pi goes on',
		play: (turn, _attempt, request) =>
			turn === 0
				? [
						{
							text: 'I will run something that takes a minute. Stop the command whenever you like; I will go on with what there is.',
						},
						bash('for i in $(seq 60); do echo "step $i of 60"; sleep 1; done; echo finished'),
					]
				: [{ text: afterCommand(request) }],
	},
	{
		name: 'two commands at once',
		about: 'two commands side by side, each with its own stop',
		play: (turn, _attempt, request) =>
			turn === 0
				? [
						{ text: 'Two commands, at the same time. Stopping one leaves the other alone.' },
						bash('for i in $(seq 40); do echo "slow $i of 40"; sleep 1; done'),
						bash('for i in $(seq 12); do echo "quick $i of 12"; sleep 1; done'),
					]
				: [{ text: afterCommand(request) }],
	},
	{
		name: 'a long answer with code and tables',
		about: 'headings, lists, tables and code, streamed',
		play: () => [
			{
				thinking: 'The reader wants to see how an answer looks. A bit of everything, then.',
				pace: 25,
			},
			{ text: LONG_ANSWER, pace: 12 },
		],
	},
	{
		name: 'a refused key',
		about: 'an error that waiting cannot mend',
		play: (_turn, attempt) =>
			attempt === 1
				? { status: 401, type: 'authentication_error', message: 'invalid x-api-key' }
				: [
						{
							text: 'The key is accepted now. That was the same request again, not a new message.',
						},
					],
	},
];

/** Starts the provider of the demo. */
export const startDemo = (): Promise<Provider> => startProvider(playScene);

/** Answers as the scene that was last asked for by name, or explains what there is. */
export function playScene(request: ModelRequest): Reply {
	const { messages, attempt } = request;
	const asked = messages.findLastIndex(({ role }) => role === 'user');
	const text = messages[asked]?.text ?? '';
	const scene = SCENES.find(({ name }) => text.toLowerCase().includes(name));
	const turn = messages.slice(asked + 1).filter(({ role }) => role === 'tool').length;

	if (scene) return scene.play(turn, attempt, request);
	return [{ text: explain(text) }];
}

function afterCommand({ messages }: ModelRequest): string {
	const results = messages.slice(messages.findLastIndex(({ role }) => role === 'user'));
	const stopped = results.filter(
		({ role, text }) => role === 'tool' && text.trimEnd().endsWith('Command aborted'),
	).length;
	if (stopped === 0) return 'It ran to its end. Nothing was stopped.';
	return stopped === 1
		? 'You stopped a command. I have its output up to that moment, and I am still here: this is the same turn.'
		: `You stopped ${stopped} commands. I have their output up to that moment, and I am still here: this is the same turn.`;
}

function explain(text: string): string {
	const scenes = SCENES.map(({ name, about }) => `- **${name}**: ${about}`).join('\n');
	return `This is the demo: a script answers, not a model. Pi, its HTTP requests and its commands are real. You wrote:\n\n> ${text.slice(0, 300).replaceAll('\n', '\n> ')}\n\nSend one of these to see a fault and what you can do about it:\n\n${scenes}`;
}

const LONG_ANSWER = `## What a retry is made of

When a provider answers *429* or *5xx*, the agent waits and sends the **same request** again. Three things make that bearable:

1. You see **that** it waits, and for how long.
2. You can **skip** the wait, or **cancel** it.
3. What was streamed before the failure is never glued to the next attempt.

### The waits

| attempt | wait | after an error such as |
| ---: | :--- | --- |
| 1 | 2 s | \`429 rate_limit_error\` |
| 2 | 4 s | \`503 service_unavailable\` |
| 3 | 8 s | \`529 overloaded_error\` |

### In code

\`\`\`ts
for await (const event of agent.prompt('Run the full test suite.')) {
	switch (event.type) {
		case 'text':
			process.stdout.write(event.text);
			break;
		case 'auto_retry_start':
			console.warn(\`attempt \${event.attempt} of \${event.maxAttempts} in \${event.delayMs / 1000} s\`);
			break;
	}
}
\`\`\`

And the same idea in a shell, for comparison:

\`\`\`bash
for delay in 2 4 8; do
  curl --fail https://api.example.test/v1/answer && break
  sleep "$delay"   # nobody sees this, and nobody can skip it
done
\`\`\`

> A wait that cannot be seen is a hang. A wait that cannot be ended is worse.

### What to check

- [x] the bar moves evenly
- [x] the answer arrives once
- [ ] nothing jumps while you read

That is all: a [contract](https://example.test/contract), a bar, and two buttons.
`;
