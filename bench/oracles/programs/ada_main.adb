--  SPDX-License-Identifier: MIT
--  Nested, overloaded and generic subprograms, operators, tasks, exceptions; with the runtime linked
--  in statically.
with Ada.Text_IO; use Ada.Text_IO;
with Ada.Containers.Ordered_Maps;
with Ada.Containers.Vectors;

procedure Ada_Main is
   package Names is new Ada.Containers.Vectors (Positive, Integer);
   package Counts is new Ada.Containers.Ordered_Maps (Integer, Integer);

   type Vector is array (Positive range <>) of Float;

   function "+" (Left, Right : Vector) return Vector is
      Sum : Vector (Left'Range);
   begin
      for I in Left'Range loop
         Sum (I) := Left (I) + Right (I);
      end loop;
      return Sum;
   end "+";

   generic
      type Item is private;
      with function Image (X : Item) return String;
   procedure Print (X : Item);

   procedure Print (X : Item) is
   begin
      Put_Line (Image (X));
   end Print;

   function Show (X : Float) return String is (Float'Image (X));
   function Show (X : Integer) return String is (Integer'Image (X));
   procedure Print_Float is new Print (Float, Show);
   procedure Print_Integer is new Print (Integer, Show);

   function Fold (V : Vector; F : access function (A, B : Float) return Float) return Float is
      Total : Float := 0.0;
   begin
      for X of V loop
         Total := F (Total, X);
      end loop;
      return Total;
   end Fold;

   Scale : Float := 2.0;

   function Weighted (A, B : Float) return Float is (A + Scale * B);

   task type Worker is
      entry Start (Id : Integer);
   end Worker;

   task body Worker is
      Mine : Integer;
   begin
      accept Start (Id : Integer) do
         Mine := Id;
      end Start;
      Print_Integer (Mine);
   end Worker;

   Workers : array (1 .. 2) of Worker;
   All_Names : Names.Vector;
   Seen : Counts.Map;
   V : constant Vector := (1.0, 2.0, 3.0);
begin
   for I in Workers'Range loop
      Workers (I).Start (I);
      All_Names.Append (I * I);
      Seen.Include (I, I * I);
   end loop;
   Print_Float (Fold (V + V, Weighted'Access));
   Print_Integer (Seen.Element (1) + Integer (All_Names.Length));
   Scale := Float (All_Names.Element (7));
exception
   when others =>
      Put_Line ("out of range");
end Ada_Main;
