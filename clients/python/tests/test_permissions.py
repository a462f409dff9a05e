import asyncio

import tidemark
from tidemark import aio

from .support import ServerTest


class Permissions(ServerTest):
    def waiting(self, workspace: tidemark.Workspace, turn: str):
        """The request of the turn that waits for a person."""
        with workspace.events(turn=turn, types=["permission.requested", "question.requested"]) as asked:
            next(asked)
        return workspace.permissions()["pending"][0]

    def test_what_a_person_allows_for_good_is_not_asked_for_again_until_the_rule_is_removed(self):
        workspace = self.client.workspace("always")
        turn = workspace.submit("ASK NotebookEdit")["turn"]
        request = self.waiting(workspace, turn)
        self.assertEqual((request["kind"], request["tool"], request["turn"]), ("permission", "NotebookEdit", turn))
        self.assertEqual([each["permission"] for each in self.client.permissions()], [request["permission"]])
        decided = workspace.decide(request["permission"], "allow_always")
        self.assertEqual(decided["decision"], "allow")
        self.assertIn("Allowed", workspace.result(turn)["text"])
        with self.assertRaises(tidemark.TidemarkError) as late:
            workspace.decide(request["permission"], "deny")
        self.assertEqual((late.exception.status, late.exception.code), (409, "permission_resolved"))
        self.assertIn("Allowed", workspace.result(workspace.submit("ASK NotebookEdit")["turn"])["text"])
        self.assertEqual([each["rule"] for each in workspace.permissions()["rules"]], [decided["rule"]])
        workspace.remove_rule(decided["rule"])
        turn = workspace.submit("ASK NotebookEdit")["turn"]
        workspace.decide(self.waiting(workspace, turn)["permission"], "deny", message="no more")
        self.assertIn("Refused", workspace.result(turn)["text"])

    def test_a_question_is_answered_also_from_a_coroutine(self):
        workspace = self.client.workspace("question")
        turn = workspace.submit("QUESTION Which colour?")["turn"]
        request = self.waiting(workspace, turn)

        async def answer() -> None:
            client = aio.Client(self.server.url, self.server.token)
            waiting = await client.permissions()
            self.assertEqual([each["permission"] for each in waiting], [request["permission"]])
            same = client.workspace("question")
            self.assertEqual((await same.permissions())["pending"], waiting)
            await same.decide(request["permission"], "allow", answers={"Which colour?": "blue"})

        asyncio.run(answer())
        self.assertIn("Chosen: blue.", workspace.result(turn)["text"])
